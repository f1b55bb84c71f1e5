import { doublingBackoff } from '#kernel';

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 30_000;

/**
 * When something that failed may be tried again: after 0.2 s, then twice as long each time up to 30 s, and
 * then by one trial only, until it succeeds. Times are milliseconds of any one monotonic clock.
 */
export class Backoff {
  #failures = 0;
  #until = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #onTrial = false;

  /** Whether to try now. Between failure and success a yes is given once for each pause. */
  mayTry(now: number): boolean {
    if (this.#failures === 0) return true;
    if (this.#onTrial || now < this.#until) return false;
    this.#onTrial = true;
    return true;
  }

  /** Milliseconds until the pause is over. */
  remaining(now: number): number {
    return this.#failures === 0 ? 0 : Math.max(0, this.#until - now);
  }

  /** Several attempts that were under way together and fail together count once. */
  failed(startedAt: number, now: number): void {
    if (startedAt < this.#failedAt) return;
    this.#failures += 1;
    this.#until = now + doublingBackoff(this.#failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    this.#failedAt = now;
    this.#onTrial = false;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#onTrial = false;
  }
}
