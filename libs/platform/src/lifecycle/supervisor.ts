import type { ChildProcess } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { doublingBackoff } from '#kernel';

/** One run of a supervised program. */
export interface Run {
  /** Resolves when the program is ready; rejects when it ends before. */
  readonly ready: Promise<unknown>;
  /** Resolves to the way the program ended; never rejects. */
  readonly ended: Promise<string>;
  /** Asks the program to end and kills it after `patienceMs`. Resolves when it has ended. */
  stop(patienceMs: number): Promise<void>;
  kill(): void;
}

/** Message of a program to its parent, once it can be used. */
export interface Listening {
  readonly type: 'listening';
  readonly port: number;
  readonly bouncePort?: number | null;
}

export interface ChildRun extends Run {
  readonly ready: Promise<Listening>;
}

/** A run of a program that has an IPC channel to us. `refused` makes the error of one that ends before it is ready. */
export function runOf(child: ChildProcess, refused: (how: string) => Error): ChildRun {
  const ended = endOf(child);
  const ready = Promise.race([
    listening(child),
    ended.then((how) => {
      throw refused(how);
    }),
  ]);
  ready.catch(() => undefined);
  return {
    ready,
    ended,
    stop: async (patienceMs) => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs);
      await ended;
      clearTimeout(timer);
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

function listening(child: ChildProcess): Promise<Listening> {
  return new Promise((resolve) => {
    child.on('message', (message) => {
      if (isListening(message)) resolve(message);
    });
  });
}

function isListening(message: unknown): message is Listening {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'listening';
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
}

const [FIRST_DELAY_MS, LONGEST_DELAY_MS] = [500, 30_000];
/** A program that ran for so long has not crashed repeatedly. */
const HEALTHY_AFTER_MS = 60_000;

/** The clock and timer of a supervisor. */
export interface Timing {
  now(): number;
  wait(ms: number, signal: AbortSignal): Promise<unknown>;
}

const REAL_TIMING: Timing = {
  now: () => performance.now(),
  wait: (ms, signal) => wait(ms, undefined, { signal }),
};

/** Keeps one program running: restarts it with backoff when it ends by itself, and tells of it. */
export class Supervisor {
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
    let crashes = 0;
    for (;;) {
      const how = await run.ended;
      if (this.#stopping.signal.aborted) return;
      crashes = this.timing.now() - started >= HEALTHY_AFTER_MS ? 1 : crashes + 1;
      const delay = doublingBackoff(crashes, FIRST_DELAY_MS, LONGEST_DELAY_MS);
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

/** Calls `onParentGone` once when the program that started this one over an IPC channel is gone, so that it leaves no orphans. */
export function watchParent(onParentGone: () => void): void {
  if (process.send === undefined) return;
  if (process.connected) process.once('disconnect', onParentGone);
  else onParentGone();
}
