import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { errorCode } from './error-code.js';
import { PostgresStartError } from './postgres-start.error.js';

const FAST_SHUTDOWN_MS = 10_000;
const IMMEDIATE_SHUTDOWN_MS = 5_000;

/** What a running server writes into its data directory. */
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
 * Clears the way for a new server on `directory`: one that still runs there (its launcher was killed) is
 * stopped; a process file that names a stranger (the number was given to another program since) is removed.
 * A dead process's file is left to PostgreSQL, which recovers from it. Resolves to whether one was stopped.
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

/** Whether process `pid` is a server of this directory, told by its command line. A zombie has none. */
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
