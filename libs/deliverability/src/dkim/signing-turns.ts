/**
 * Lets so many signatures be made at once. libuv's threads serve files and look-ups of host names too: whatever stood
 * behind a batch of a hundred signatures in its queue would wait for all of them.
 */
export class SigningTurns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(parallel: number) {
    this.#free = parallel;
  }

  async take<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
