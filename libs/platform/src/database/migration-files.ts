import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectRoot } from '../project-root.js';

export interface MigrationFile {
  /** Without its ending; names order the history. */
  readonly name: string;
  readonly statements: string;
  /** SHA-256 of the text, in hex. */
  readonly digest: string;
}

/** The names of this version's migrations, in their order. */
export async function migrationNames(): Promise<string[]> {
  const entries = await readdir(join(projectRoot(), 'migrations'));
  return entries
    .filter((entry) => entry.endsWith('.sql'))
    .map((entry) => entry.replace(/\.sql$/, ''))
    .sort();
}

/** This version's migrations, in the order of their names. */
export async function migrationFiles(): Promise<MigrationFile[]> {
  const names = await migrationNames();
  return Promise.all(
    names.map(async (name) => {
      const statements = await readFile(join(projectRoot(), 'migrations', `${name}.sql`), 'utf8');
      return { name, statements, digest: createHash('sha256').update(statements).digest('hex') };
    }),
  );
}
