/**
 * Repeats a pass: at once when woken, else after `intervalMs`. Passes never overlap. A pass that throws
 * is told to `onError` and the next one comes after the interval.
 */
export class Loop {
  #running = false;
  #woken = false;
  #timer: NodeJS.Timeout | undefined;
  #resume: (() => void) | undefined;
  #finished: Promise<void> = Promise.resolve();
  #stopListening: (() => void)[] = [];

  constructor(
    private readonly intervalMs: number,
    private readonly pass: () => Promise<void>,
    private readonly onError: (error: unknown) => void,
    /** Each has the loop woken while it runs, and returns how to end that. */
    private readonly wakers: readonly ((wake: () => void) => () => void)[] = [],
  ) {}

  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#stopListening = this.wakers.map((listen) => listen(() => this.wake()));
    this.#finished = this.#run();
  }

  wake(): void {
    this.#woken = true;
    this.#resume?.();
  }

  /** Resolves when the running pass has ended. */
  async stop(): Promise<void> {
    for (const stop of this.#stopListening.splice(0)) stop();
    this.#running = false;
    this.#resume?.();
    await this.#finished;
  }

  async #run(): Promise<void> {
    while (this.#running) {
      this.#woken = false;
      try {
        await this.pass();
      } catch (error) {
        if (this.#running) this.onError(error);
        this.#woken = false;
      }
      await this.#pause();
    }
  }

  #pause(): Promise<void> {
    if (!this.#running || this.#woken) return Promise.resolve();
    return new Promise((resolve) => {
      this.#resume = () => {
        clearTimeout(this.#timer);
        this.#resume = undefined;
        resolve();
      };
      this.#timer = setTimeout(() => this.#resume?.(), untilNextTurn(this.intervalMs));
    });
  }
}

/** Time to the next turn, which all loops of a process take at the same moments, so that one at rest is woken seldom. */
function untilNextTurn(intervalMs: number): number {
  return intervalMs - (performance.now() % intervalMs);
}
