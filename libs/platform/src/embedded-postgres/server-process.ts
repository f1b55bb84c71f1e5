import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { watchForOrphan } from './orphan-guard.js';
import { readPostmasterFile } from './postmaster.js';
import type { Command } from './server-user.js';

const KEPT_LINES = 20;

/** A server that ended before it took connections, and what it said. */
export class ServerEndedError extends Error {
  override readonly name = 'ServerEndedError';
  constructor(readonly output: readonly string[]) {
    super(`PostgreSQL did not start:\n${output.join('\n')}`);
  }
}

/** A running server. `exited` tells how it ended, and never rejects. */
export interface ServerProcess {
  readonly pid: number;
  readonly exited: Promise<string>;
  signal(signal: NodeJS.Signals): void;
}

/** Nothing of the caller's environment but the path: `PG…` and `LC_…` variables would change what the server does. */
export function environmentOfServer(): NodeJS.ProcessEnv {
  const { PATH, SystemRoot } = process.env;
  return { PATH, ...(SystemRoot === undefined ? {} : { SystemRoot }), LC_ALL: 'C', TZ: 'UTC' };
}

/**
 * Starts the server and resolves when it takes connections. It gets a session of its own, so that Ctrl-C in
 * the terminal doesn't stop it before those who use it. Rejects with `ServerEndedError`.
 */
export async function startServer(
  command: Command,
  directory: string,
  limits: { readonly deadlineMs: number; readonly signal?: AbortSignal | undefined },
  onLog: (line: string) => void,
): Promise<ServerProcess> {
  const { file, args, ...ids } = command;
  const child = spawn(file, args, {
    ...ids,
    cwd: directory,
    env: environmentOfServer(),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const output = lastLines([child.stdout, child.stderr], onLog);
  const exited = exitOf(child);
  const pid = child.pid;
  if (pid === undefined) throw new ServerEndedError([await exited]);
  const guard = watchForOrphan(pid, directory);
  void exited.then(() => guard.dismiss());
  const ended = exited.then(() => true);
  const deadline = performance.now() + limits.deadlineMs;
  // Whoever has given up meanwhile does not want a server that was quick.
  while (limits.signal?.aborted === true || !(await isReady(directory, pid))) {
    if (await Promise.race([ended, delay(20, false)])) throw new ServerEndedError(output());
    if (performance.now() > deadline || limits.signal?.aborted === true) {
      child.kill('SIGQUIT');
      await exited;
      throw new ServerEndedError([...output(), 'It was stopped before it was ready.']);
    }
  }
  return { pid, exited, signal: (signal) => void child.kill(signal) };
}

/** Keeps the last lines of some streams, and passes each on. */
export function lastLines(
  streams: readonly Readable[],
  onLine: (line: string) => void = () => undefined,
): () => string[] {
  const lines: string[] = [];
  for (const stream of streams) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      onLine(line);
    });
  }
  return () => [...lines];
}

async function isReady(directory: string, pid: number): Promise<boolean> {
  const file = await readPostmasterFile(directory);
  return file !== null && file.pid === pid && file.ready;
}

function exitOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal === null ? `code ${code}` : `signal ${signal}`));
  });
}
