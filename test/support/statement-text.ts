import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RawBuilder } from 'kysely';
import type { Database } from '../../libs/platform/src/database/database.js';
import { projectRoot } from '../../libs/platform/src/project-root.js';

/** The text of a hot statement, and what `test/statements/<name>.sql` has: `UPDATE_STATEMENTS=1` writes that file. */
export async function statementText(
  name: string,
  statement: RawBuilder<unknown>,
  database: Database,
): Promise<{ readonly now: string; readonly committed: string }> {
  const file = join(projectRoot(), 'test/statements', `${name}.sql`);
  const now = `${database.compile(statement).sql.trim()}\n`;
  if (process.env['UPDATE_STATEMENTS'] !== undefined) await writeFile(file, now);
  return { now, committed: await readFile(file, 'utf8') };
}
