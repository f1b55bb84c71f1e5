/** Tells whoever listens on a channel, in any process, that there may be something to do. */
export interface Wake {
  readonly channel: string;
  readonly payload: string;
}

/** What carries wake-ups to other processes. */
export interface WakeLine {
  send(wakes: readonly Wake[]): Promise<unknown>;
  close(): void;
}

/** So often a process sends, at most. */
const EVERY_MS = 50;

/**
 * Sends the wake-ups of this process: the first at once, those that come within 50 ms of it together. PostgreSQL commits
 * transactions with a NOTIFY one after the other, so none is sent in a transaction that does anything else. One that is
 * lost is made up for by the looks of whoever listens.
 */
export class Wakes {
  #waiting = new Map<string, Wake>();
  #sending: Promise<void> | undefined;
  #isStopping = false;
  #endPause: () => void = () => undefined;

  constructor(private readonly line: WakeLine) {}

  send(wakes: readonly Wake[]): void {
    for (const wake of wakes) this.#waiting.set(`${wake.channel} ${wake.payload}`, wake);
    if (this.#waiting.size > 0) this.#sending ??= this.#sendAll();
  }

  /** Sends what waits. */
  async close(): Promise<void> {
    this.#isStopping = true;
    this.#endPause();
    await this.#sending;
    this.line.close();
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      const wakes = [...this.#waiting.values()];
      this.#waiting.clear();
      await Promise.all([this.line.send(wakes).catch(() => undefined), this.#pause()]);
    }
    this.#sending = undefined;
  }

  #pause(): Promise<void> {
    if (this.#isStopping) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, EVERY_MS);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
