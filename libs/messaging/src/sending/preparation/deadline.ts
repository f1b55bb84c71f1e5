/**
 * Waits for several things, and no longer than so long for all of them. What takes longer goes on: who asks again later
 * finds it further.
 */
export class Deadline {
  readonly #endsAt: number;

  constructor(ms: number) {
    this.#endsAt = performance.now() + ms;
  }

  /** Null when it takes too long. */
  async waitFor<Result>(promise: Promise<Result>): Promise<Result | null> {
    const { promise: end, resolve } = Promise.withResolvers<null>();
    const timer = setTimeout(() => resolve(null), Math.max(0, this.#endsAt - performance.now()));
    try {
      return await Promise.race([promise, end]);
    } finally {
      clearTimeout(timer);
    }
  }
}
