import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

/** The embedded PostgreSQL cannot run; in words for the person at the terminal. */
export class PostgresStartError extends Error {
  override readonly name = 'PostgresStartError';
}

/** The code that the system gives an error, such as `ENOENT`; undefined when it has none. */
export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

const run = promisify(execFile);

/** User of a server that root starts: PostgreSQL refuses to run as root. */
export interface ServerUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** A program with its arguments, and the ids to drop to. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * User for the server of `directory`; null when we are not root. The owner of the directory, else of one above it (`sudo npm
 * start` in a home directory), else the system's `postgres` or `nobody`. No user is ever created.
 */
export async function serverUser(directory: string): Promise<ServerUser | null> {
  if (process.getuid?.() !== 0) return null;
  const present = await stat(directory).catch(() => null);
  if (present !== null && present.uid !== 0)
    return { name: `#${present.uid}`, uid: present.uid, gid: present.gid };
  for (const name of [...(await ownersAbove(directory)), 'postgres', 'nobody']) {
    const user = await userNamed(name);
    if (user !== null) return user;
  }
  throw new PostgresStartError(
    'PostgreSQL does not run as root, and this system has neither a user "postgres" nor "nobody". ' +
      'Start Mailwright as another user, or set DATABASE_URL.',
  );
}

/**
 * Command that starts `file` as `user`. Where a directory above one of `paths` is closed to that user (a project below /root), it
 * gets the one capability of root's that lets it pass, by `setpriv` on Linux.
 */
export async function commandAs(
  user: ServerUser | null,
  file: string,
  args: readonly string[],
  paths: readonly string[],
): Promise<Command> {
  if (user === null) return { file, args };
  const closed = await firstClosed(user, [file, ...paths]);
  if (closed === null) return { file, args, uid: user.uid, gid: user.gid };
  const capability = await passingCapability();
  if (capability === null) {
    throw new PostgresStartError(
      `PostgreSQL does not run as root, and the user "${user.name}" that it would run as may not enter ${closed}. ` +
        `Start Mailwright as another user than root, move the project to a directory that is open to all, ` +
        `run "chmod o+x ${closed}", or set DATABASE_URL.`,
    );
  }
  return { file: 'setpriv', args: [...privileges(user, capability), '--', file, ...args] };
}

function privileges(user: ServerUser, capability: string): string[] {
  return [
    `--reuid=${user.uid}`,
    `--regid=${user.gid}`,
    '--clear-groups',
    `--inh-caps=-all,+${capability}`,
    `--ambient-caps=+${capability}`,
    // access(2) ignores the capabilities of whoever is not root without it: capabilities(7), SECBIT_NO_SETUID_FIXUP.
    '--securebits=+no_setuid_fixup',
    '--no-new-privs',
  ];
}

function upwards(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [path, ...upwards(parent)];
}

async function ownersAbove(path: string): Promise<string[]> {
  const owners = await Promise.all(
    upwards(dirname(path)).map((above) =>
      stat(above).then(
        ({ uid }) => uid,
        () => 0,
      ),
    ),
  );
  return owners.filter((uid) => uid !== 0).map(String);
}

/** The user of this name or number, or null when the system has none (initdb insists on a known one). */
async function userNamed(name: string): Promise<ServerUser | null> {
  try {
    const [known, uid, gid] = await Promise.all(
      ['-un', '-u', '-g'].map(async (flag) => (await run('id', [flag, name])).stdout.trim()),
    );
    return { name: String(known), uid: Number(uid), gid: Number(gid) };
  } catch {
    return null;
  }
}

/** The first directory, from the root down, that `user` may not enter. */
async function firstClosed(user: ServerUser, paths: readonly string[]): Promise<string | null> {
  for (const path of paths) {
    for (const directory of upwards(dirname(path)).toReversed()) {
      const { mode, uid, gid } = await stat(directory);
      const mayEnter = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
      if ((mode & mayEnter) === 0) return directory;
    }
  }
  return null;
}

/** CAP_DAC_READ_SEARCH, or in a container without it CAP_DAC_OVERRIDE; null when setpriv or both are missing. */
async function passingCapability(): Promise<string | null> {
  if (process.platform !== 'linux') return null;
  try {
    await run('setpriv', ['--version']);
    const permitted =
      /^CapPrm:\s*([0-9a-f]+)$/m.exec(await readFile('/proc/self/status', 'utf8'))?.[1] ?? '0';
    const has = (bit: bigint) => ((BigInt(`0x${permitted}`) >> bit) & 1n) === 1n;
    if (has(2n)) return 'dac_read_search';
    return has(1n) ? 'dac_override' : null;
  } catch {
    return null;
  }
}
