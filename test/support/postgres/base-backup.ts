import { chown, copyFile, lstat, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';

/** Files that PostgreSQL's manual leaves out of a base backup ("Making a Base Backup Using the Low Level API"). */
const LEFT_OUT: ReadonlySet<string> = new Set(['postmaster.pid', 'postmaster.opts', 'pg_internal.init']);
const EMPTIED: ReadonlySet<string> = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
]);

/**
 * Copies the data directory of a server that goes on working, as pg_basebackup does, with the write-ahead log of the
 * meantime. A server that starts on the copy has at least all that was committed when `isComplete` was called.
 */
export async function takeBaseBackup(
  url: string,
  directory: string,
  target: string,
  isComplete: () => void,
): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`select pg_backup_start('test', true)`);
    await copyTree(directory, target, EMPTIED);
    isComplete();
    const { rows } = await client.query<{ labelfile: string }>(
      `select labelfile from pg_backup_stop(wait_for_archive => false)`,
    );
    await copyTree(join(directory, 'pg_wal'), join(target, 'pg_wal'), new Set());
    await writeFile(join(target, 'backup_label'), rows[0]?.labelfile ?? '');
    await ownAs(directory, join(target, 'backup_label'));
  } finally {
    await client.end();
  }
}

/** Files that vanish meanwhile are in the log. */
async function copyTree(from: string, to: string, emptied: ReadonlySet<string>): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  await ownAs(from, to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (LEFT_OUT.has(entry.name)) continue;
    if (entry.isDirectory() && emptied.has(entry.name)) {
      await mkdir(target, { mode: 0o700 });
      await ownAs(source, target);
    } else if (entry.isDirectory()) await copyTree(source, target, emptied);
    else await copyIfThere(source, target);
  }
}

async function copyIfThere(source: string, target: string): Promise<void> {
  try {
    await copyFile(source, target);
    await ownAs(source, target);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}

/** The server may run as another user than the tests. */
async function ownAs(like: string, path: string): Promise<void> {
  const { uid, gid } = await lstat(like);
  await chown(path, uid, gid);
}
