import type { ChildProcess } from 'node:child_process';

/** One run of a supervised program. */
export interface Run {
  /** Resolves when the program is ready; rejects when it ends before. */
  readonly ready: Promise<unknown>;
  /** Resolves to how the program ended; never rejects. */
  readonly ended: Promise<string>;
  /** Asks the program to end and kills it after `patienceMs`. Resolves when it has ended. */
  stop(patienceMs: number): Promise<void>;
  kill(): void;
}

/** What a program of ours tells who started it, once it can be used. */
export interface Listening {
  readonly type: 'listening';
  readonly port: number;
  /** Of a worker with a bounce server. */
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
