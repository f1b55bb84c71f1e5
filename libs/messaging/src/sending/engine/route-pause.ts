import { doublingBackoff } from '#kernel';

const SHORTEST_MS = 1_000;
const LONGEST_MS = 60_000;

/** Rests while the next hop cannot be reached, longer each time, so that a dead relay is not hammered. */
export class RoutePause {
  #until = 0;
  #failures = 0;
  #isFailing = false;

  isOn(now: number): boolean {
    return now < this.#until;
  }

  /** The last attempt failed: one mail finds out whether the next hop can be reached again. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** The end of the current rest. */
  get until(): Date {
    return new Date(this.#until);
  }

  /** The current rest's length. */
  get seconds(): number {
    return Math.ceil(this.#length() / 1_000);
  }

  /** Takes an attempt's result into account; true when a rest begins with it. */
  after({ kind }: { readonly kind: string }, now: number): boolean {
    this.#isFailing = kind === 'route-unavailable';
    if (kind !== 'route-unavailable') {
      if (kind === 'accepted') this.#failures = 0;
      return false;
    }
    if (this.isOn(now)) return false;
    this.#failures += 1;
    this.#until = now + this.#length();
    return true;
  }

  #length(): number {
    return doublingBackoff(this.#failures, SHORTEST_MS, LONGEST_MS);
  }
}
