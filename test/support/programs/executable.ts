import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Directories of servers that a user's PATH often leaves out. */
const SERVER_DIRECTORIES = ['/usr/local/sbin', '/usr/sbin', '/sbin', ...postgresDirectories()];

/** The path of an executable on the PATH, or of one that is named with its path; undefined when it is not there. */
export function executable(name: string): string | undefined {
  const directories = [...(process.env['PATH'] ?? '').split(delimiter), ...SERVER_DIRECTORIES];
  const paths = name.includes('/')
    ? [name]
    : directories.filter(Boolean).map((directory) => join(directory, name));
  return paths.find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Program directories of the PostgreSQL versions that Debian has installed, the newest first. */
function postgresDirectories(): readonly string[] {
  const versions = '/usr/lib/postgresql';
  if (!existsSync(versions)) return [];
  const newestFirst = readdirSync(versions).sort((one, other) => Number(other) - Number(one));
  return newestFirst.map((version) => join(versions, version, 'bin'));
}
