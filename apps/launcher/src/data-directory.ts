import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { errorCode, LaunchError } from './failure.js';

/** Creates the directory unless it exists. With `recursive`, Node would report a read-only file system as ENOENT. */
export async function makeDataDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o711 });
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && (await stat(path)).isDirectory()) return;
    throw error;
  }
}

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

const secret = z.string().min(32);
const secrets = z.object({ tokenSecret: secret, masterKey: secret });

/** The secrets that sign links and encrypt stored secrets, when the environment has none. */
export type Secrets = z.infer<typeof secrets>;

/**
 * The secrets of this installation, created at the first start (256 random bits each), before its database. A file that is
 * damaged or was lost is an error: with new secrets, existing encrypted data could not be read.
 */
export async function readOrMakeSecrets(path: string, database: string): Promise<Secrets> {
  const text = await readIfPresent(path);
  if (text === null) {
    if (existsSync(database))
      throw new LaunchError(
        `${path} is missing, and the database in ${database} needs it. Restore it from a backup; or, if nothing in the database matters, remove the database as well.`,
      );
    const made = { tokenSecret: newSecret(), masterKey: newSecret() };
    await writePrivateFile(path, `${JSON.stringify(made, null, 2)}\n`);
    return made;
  }
  const parsed = secrets.safeParse(parseJson(text));
  if (!parsed.success) {
    throw new LaunchError(
      `${path} is damaged. Restore it from a backup; or, if nothing in the database matters, remove it together with the database.`,
    );
  }
  await chmod(path, 0o600);
  return parsed.data;
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Writes a file that only its owner may read, atomically. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const draft = `${path}.${process.pid}.new`;
  await writeFile(draft, content, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, path);
}

/** The file's text, or null when there is none. */
export async function readIfPresent(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** The value of a JSON text; null where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
