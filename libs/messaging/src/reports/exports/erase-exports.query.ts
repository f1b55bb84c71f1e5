import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import type { Database } from '#platform';

/** Empties the files, finished or not, that contain deliveries of `which`, and their cursors. A client that waits for one asks again. */
export async function eraseExports(
  database: Database,
  { environmentId }: ProjectScope,
  which: ReturnType<typeof sql>,
  now: Date,
): Promise<void> {
  const tables = database.tables();
  const { rows } = await sql<{ id: string }>`
    update messaging.exports e
    set cursor = null, taken_at = coalesce(e.taken_at, ${now}), state = case when e.state = 'PENDING' then 'FAILED' else e.state end
    where e.environment_id = ${environmentId} and e.kind = 'DELIVERIES' and e.campaign_id in (
      select d.source_id from messaging.deliveries d
      where d.environment_id = ${environmentId} and d.kind = 'CAMPAIGN' and ${which}
    )
    returning e.id
  `.execute(tables);
  // A statement of its own: the one above may have waited for who was writing a part, and would not see it.
  await sql`
    delete from messaging.export_parts
    where environment_id = ${environmentId} and export_id = any(${rows.map(({ id }) => id)}::uuid[])
  `.execute(tables);
}
