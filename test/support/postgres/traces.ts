import type { TestDatabase } from './database.js';

/** The tables, of all schemas of ours, in whose rows one of the words stands. Looks at every row. */
export async function tracesOf(database: TestDatabase, ...words: readonly string[]): Promise<string[]> {
  const tables = await database.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
     order by 1`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const [row] = await database.query<{ hits: number }>(
      `select count(*)::int as hits from ${name} t
       where exists (select from unnest($1::text[]) word where position(lower(word) in lower(t::text)) > 0)`,
      [words],
    );
    if ((row?.hits ?? 0) > 0) found.push(name);
  }
  return found;
}
