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
  await sql`
    with emptied as (
      update messaging.exports e
      set cursor = null, taken_at = coalesce(e.taken_at, ${now}), state = case when e.state = 'PENDING' then 'FAILED' else e.state end
      where e.environment_id = ${environmentId} and e.kind = 'DELIVERIES' and e.campaign_id in (
        select d.source_id from messaging.deliveries d
        where d.environment_id = ${environmentId} and d.kind = 'CAMPAIGN' and ${which}
      )
      returning e.id
    )
    delete from messaging.export_parts p using emptied
    where p.environment_id = ${environmentId} and p.export_id = emptied.id
  `.execute(database.tables());
}
