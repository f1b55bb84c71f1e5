import { sql } from 'kysely';
import type { Database } from '#platform';

/** Events that one transaction numbers. */
const MOST = 5_000;

const isUnnumbered = (environmentId: number) =>
  sql`e.environment_id = ${environmentId} and e.sequence is null`;

/**
 * Numbers the committed events of an environment that have no number yet, the oldest first, in the open transaction. Who numbers
 * waits for the number before to be committed: all numbers up to the last that anybody sees are there to be seen. Events that
 * somebody erases just now are left to the next time.
 */
export async function numberEvents(database: Database, environmentId: number): Promise<void> {
  const tables = database.tables();
  const { rows } = await sql<{ isAny: boolean }>`
    select exists (select 1 from webhooks.events e where ${isUnnumbered(environmentId)}) as is_any
  `.execute(tables);
  if (rows[0]?.isAny !== true) return;
  // A statement of its own: the next one sees what was numbered while this one waited.
  await sql`
    insert into webhooks.sequences as s (environment_id, last) values (${environmentId}, 0)
    on conflict (environment_id) do update set last = s.last
  `.execute(tables);
  await sql`
    /* number_events */ with fresh as materialized (
      select e.id, e.occurred_at from webhooks.events e where ${isUnnumbered(environmentId)}
      order by e.occurred_at, e.id limit ${MOST} for no key update skip locked
    ), numbered as (
      update webhooks.events e set sequence = f.sequence
      from (
        select f.id, row_number() over (order by f.occurred_at, f.id)
          + (select s.last from webhooks.sequences s where s.environment_id = ${environmentId}) as sequence
        from fresh f
      ) f
      where e.id = f.id and e.environment_id = ${environmentId}
      returning 1
    )
    update webhooks.sequences s set last = s.last + (select count(*) from numbered) where s.environment_id = ${environmentId}
  `.execute(tables);
}
