export const FIRST_DELAY_MS = 500;
export const LONGEST_DELAY_MS = 30_000;
export const HEALTHY_AFTER_MS = 60_000;

/** The delays before a crashed process is restarted: 0.5 s, doubled each time up to 30 s. */
export class BackOff {
  #next = FIRST_DELAY_MS;

  /** `uptimeMs`: how long the process ran. After 60 s the delays start again. */
  delayAfter(uptimeMs: number): number {
    if (uptimeMs >= HEALTHY_AFTER_MS) this.#next = FIRST_DELAY_MS;
    const delay = this.#next;
    this.#next = Math.min(delay * 2, LONGEST_DELAY_MS);
    return delay;
  }
}
