import { setTimeout as wait } from 'node:timers/promises';
import { BackOff } from './back-off.js';
import type { Run } from './run.js';

export { type ChildRun, type Run, runOf } from './run.js';

/** The clock and timer of a supervisor. */
export interface Timing {
  now(): number;
  wait(ms: number, signal: AbortSignal): Promise<unknown>;
}

const REAL_TIMING: Timing = {
  now: () => performance.now(),
  wait: (ms, signal) => wait(ms, undefined, { signal }),
};

/** Keeps one program running: restarts it with backoff when it ends by itself, and prints a line about it. */
export class Supervisor {
  readonly #backOff = new BackOff();
  readonly #stopping = new AbortController();
  #run: Run | undefined;
  #watching: Promise<void> = Promise.resolve();

  constructor(
    private readonly name: string,
    private readonly begin: () => Run,
    private readonly tell: (line: string) => void,
    private readonly timing: Timing = REAL_TIMING,
  ) {}

  /** Resolves when the program is ready for the first time; rejects when its first run ends before. */
  async start(): Promise<void> {
    const first = this.#begin();
    const started = this.timing.now();
    await first.ready;
    this.#watching = this.#watch(first, started);
  }

  /** Starts no more runs and ends the current one within `patienceMs`. */
  async stop(patienceMs: number): Promise<void> {
    this.#stopping.abort();
    await this.#run?.stop(patienceMs);
    await this.#watching;
  }

  kill(): void {
    this.#stopping.abort();
    this.#run?.kill();
  }

  async #watch(first: Run, firstStarted: number): Promise<void> {
    let run = first;
    let started = firstStarted;
    for (;;) {
      const how = await run.ended;
      if (this.#stopping.signal.aborted) return;
      const delay = this.#backOff.delayAfter(this.timing.now() - started);
      this.tell(`${this.name} ended unexpectedly (${how}). It is started again in ${delay / 1000} s.`);
      await this.timing.wait(delay, this.#stopping.signal).catch(() => undefined);
      if (this.#stopping.signal.aborted) return;
      started = this.timing.now();
      run = this.#begin();
      run.ready.then(
        () => this.tell(`${this.name} runs again.`),
        () => undefined,
      );
    }
  }

  #begin(): Run {
    this.#run = this.begin();
    return this.#run;
  }
}
