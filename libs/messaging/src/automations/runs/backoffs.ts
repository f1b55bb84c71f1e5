import { doublingBackoff } from '#kernel';

const FIRST_MS = 500;
const LONGEST_MS = 60_000;

interface Backoff {
  readonly failures: number;
  readonly until: Date;
}

/** Remembers until when work that failed is not tried again: twice as long each time, up to a minute. */
export class Backoffs {
  readonly #backoffs = new Map<string, Backoff>();

  isWaiting(work: string, now: Date): boolean {
    const backoff = this.#backoffs.get(work);
    return backoff !== undefined && backoff.until > now;
  }

  /** Returns the backoff that begins now, in milliseconds. */
  failed(work: string, now: Date): number {
    const failures = (this.#backoffs.get(work)?.failures ?? 0) + 1;
    const ms = doublingBackoff(failures, FIRST_MS, LONGEST_MS);
    this.#backoffs.set(work, { failures, until: new Date(now.getTime() + ms) });
    return ms;
  }

  succeeded(work: string): void {
    this.#backoffs.delete(work);
  }
}
