import { doublingBackoff } from '#kernel';

const FIRST_MS = 500;
const LONGEST_MS = 60_000;

interface Rest {
  readonly failures: number;
  readonly until: Date;
}

/** What fails is let rest before it is tried again: twice as long each time, up to a minute. */
export class Rests {
  readonly #rests = new Map<string, Rest>();

  isResting(what: string, now: Date): boolean {
    const rest = this.#rests.get(what);
    return rest !== undefined && rest.until > now;
  }

  /** Resolves to how long it rests now, in milliseconds. */
  failed(what: string, now: Date): number {
    const failures = (this.#rests.get(what)?.failures ?? 0) + 1;
    const ms = doublingBackoff(failures, FIRST_MS, LONGEST_MS);
    this.#rests.set(what, { failures, until: new Date(now.getTime() + ms) });
    return ms;
  }

  succeeded(what: string): void {
    this.#rests.delete(what);
  }
}
