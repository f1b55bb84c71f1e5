import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Command, errorCode, PostgresStartError } from './server-user.js';

/**
 * Waits for the end of its input, which comes when its parent is gone. Then the server gets a smart shutdown, so that the api and
 * the worker can finish, and after 4 s a fast one, if its process file still names the same process.
 */
const SCRIPT = `
read -r _
kill -TERM "$1" || exit 0
for second in 1 2 3 4; do
  sleep 1
  kill -0 "$1" || exit 0
done
[ "$(head -n 1 "$2/postmaster.pid" 2>/dev/null)" = "$1" ] && kill -INT "$1"
`;

export interface OrphanGuard {
  /** Call when the server has ended. */
  dismiss(): void;
}

/** Ends the server when this process is killed, where there is an `sh`. */
export function watchForOrphan(pid: number, directory: string): OrphanGuard {
  if (process.platform === 'win32') return { dismiss: () => undefined };
  const guard = spawn('sh', ['-c', SCRIPT, 'mailwright-guard', String(pid), directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
    detached: true,
  });
  guard.on('error', () => undefined);
  guard.stdin.on('error', () => undefined);
  guard.unref();
  return { dismiss: () => void guard.kill('SIGKILL') };
}

const FAST_SHUTDOWN_MS = 10_000;
const IMMEDIATE_SHUTDOWN_MS = 5_000;

/** Process file of a running server. */
export interface PostmasterFile {
  readonly pid: number;
  readonly ready: boolean;
}

/** Reads `postmaster.pid`: line 1 is the process, line 8 its status. Null when there is none. */
export async function readPostmasterFile(directory: string): Promise<PostmasterFile | null> {
  const text = await readFile(pidFile(directory), 'utf8').catch(() => '');
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  return Number.isInteger(pid) && pid > 0 ? { pid, ready: lines[7]?.trim() === 'ready' } : null;
}

/**
 * Stops a server that still runs on `directory`, since its launcher was killed, or removes a process file that names another
 * program by now. A dead process's file is left to PostgreSQL, which recovers from it. Resolves to true if one was stopped.
 */
export async function stopLeftover(directory: string): Promise<boolean> {
  const file = await readPostmasterFile(directory);
  if (file === null || !isAlive(file.pid)) return false;
  if (!(await serves(file.pid, directory))) {
    await rm(pidFile(directory), { force: true });
    return false;
  }
  await stopServer(file.pid, directory);
  return true;
}

async function stopServer(pid: number, directory: string): Promise<void> {
  for (const [signal, patienceMs] of [
    ['SIGINT', FAST_SHUTDOWN_MS],
    ['SIGQUIT', IMMEDIATE_SHUTDOWN_MS],
  ] as const) {
    send(pid, signal, directory);
    const end = performance.now() + patienceMs;
    while (performance.now() < end) {
      if (!(await serves(pid, directory))) return;
      await delay(20);
    }
  }
  throw new PostgresStartError(
    `The PostgreSQL that still runs on ${directory} (process ${pid}) does not stop. End it by hand.`,
  );
}

function send(pid: number, signal: NodeJS.Signals, directory: string): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) === 'ESRCH') return;
    throw new PostgresStartError(
      `A PostgreSQL that another user started still runs on ${directory} (process ${pid}). End it by hand.`,
      { cause: error },
    );
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** True for a process with the command line of this directory's server. A zombie has none. */
async function serves(pid: number, directory: string): Promise<boolean> {
  const command = await commandLine(pid);
  return /postgres/.test(command) && command.includes(` ${directory} `);
}

async function commandLine(pid: number): Promise<string> {
  try {
    if (process.platform === 'linux')
      return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
    return `${(await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)])).stdout.trim()} `;
  } catch {
    return '';
  }
}

function pidFile(directory: string): string {
  return join(directory, 'postmaster.pid');
}

const KEPT_LINES = 20;

/** A server that ended before it took connections, and what it said. */
export class ServerEndedError extends Error {
  override readonly name = 'ServerEndedError';
  constructor(readonly output: readonly string[]) {
    super(`PostgreSQL did not start:\n${output.join('\n')}`);
  }
}

/** A running server. `exited` resolves to the way it ended, and never rejects. */
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
 * Starts the server and resolves when it takes connections. A session of its own keeps Ctrl-C in the terminal from stopping it
 * before its users. Rejects with `ServerEndedError`.
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
  // Callers that have given up meanwhile do not want a server that was quick.
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
