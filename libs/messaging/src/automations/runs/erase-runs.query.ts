import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import type { Database } from '#platform';

/** Ends an erased subscriber's runs; their rows stay, without the subscriber. */
export async function eraseRuns(
  database: Database,
  { environmentId }: ProjectScope,
  subscriberId: string,
  now: Date,
): Promise<void> {
  await sql`
    with ended as (
      update messaging.automation_runs
      set subscriber_id = null, wake_at = null, finished_at = coalesce(finished_at, ${now}),
        status = case when status = 'ACTIVE' then 'CANCELLED' else status end
      where environment_id = ${environmentId} and subscriber_id = ${subscriberId}
      returning id
    )
    delete from messaging.automation_run_data d using ended
    where d.environment_id = ${environmentId} and d.run_id = ended.id
  `.execute(database.tables());
}
