import { sql } from 'kysely';
import type { Database } from '#platform';

/** The key of the next topic or segment of the scope's project, as `ACME-7`. */
export async function nextKey(database: Database, kind: 'topic' | 'segment'): Promise<string> {
  const { rows } = await sql<{ key: string }>`select access.next_key(${kind}) as key`.execute(
    database.tables(),
  );
  return rows[0]!.key;
}
