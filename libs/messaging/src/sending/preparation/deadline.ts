import { withTimeout } from '#kernel';

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
  waitFor<Result>(promise: Promise<Result>): Promise<Result | null> {
    return withTimeout(promise, Math.max(0, this.#endsAt - performance.now()), () => null);
  }
}
