import { execFile } from 'node:child_process';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { errorCode } from './error-code.js';
import { LaunchError } from './launch.error.js';
import { readIfPresent } from './private-file.js';

const holder = z.object({ pid: z.number().int().positive(), started: z.string() });

export interface DataDirectoryLock {
  release(): Promise<void>;
}

/**
 * Locks a data directory against a second launcher. The lock names the process and its start time, so that the lock of a
 * killed launcher is recognised as stale even when its pid was reused. Throws `LaunchError` while another launcher holds
 * the lock.
 */
export async function lockDataDirectory(directory: string): Promise<DataDirectoryLock> {
  const path = join(directory, 'launcher.lock');
  const draft = `${path}.${process.pid}`;
  const content = JSON.stringify({ pid: process.pid, started: await startOf(process.pid) });
  await writeFile(draft, content, { mode: 0o600 });
  try {
    while (!(await tryLink(draft, path))) {
      const held = await holderOf(path);
      if (held !== null) {
        throw new LaunchError(
          `Mailwright already runs in this directory (process ${held}). Stop it first, or start this one in another directory.`,
        );
      }
      await rm(path, { force: true });
    }
  } finally {
    await rm(draft, { force: true });
  }
  return {
    release: async () => {
      if ((await readIfPresent(path)) === content) await rm(path, { force: true });
    },
  };
}

/** Creates the file with its content atomically. */
async function tryLink(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/** The process that holds the lock; null when it is gone. */
async function holderOf(path: string): Promise<number | null> {
  const text = await readIfPresent(path);
  if (text === null) return null;
  const parsed = holder.safeParse(parseJson(text));
  if (!parsed.success) return null;
  return (await startOf(parsed.data.pid)) === parsed.data.started ? parsed.data.pid : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The start time of process `pid`, in a form that depends on the system; empty when there is no such process. */
async function startOf(pid: number): Promise<string> {
  try {
    if (process.platform === 'linux') return await startOnLinux(pid);
    if (process.platform === 'win32') return process.kill(pid, 0) ? 'alive' : '';
    return (await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)])).stdout.trim();
  } catch {
    return '';
  }
}

/** The boot id and the clock ticks since boot: proc_pid_stat(5), field 22, counted after the name in parentheses. */
async function startOnLinux(pid: number): Promise<string> {
  const [boot, status] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    readFile(`/proc/${pid}/stat`, 'utf8'),
  ]);
  const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
  return `${boot.trim()}/${fields[19] ?? ''}`;
}
