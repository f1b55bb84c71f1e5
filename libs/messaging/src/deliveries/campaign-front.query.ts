import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Database, named } from '#platform';

/** The day, `YYYY-MM-DD`, by which the deliveries of a campaign `c` are partitioned. */
export const PARTITION = sql<string>`(c.queued_at at time zone 'UTC')::date`;

/** The deliveries `d` of a campaign `c`. */
const ofCampaign = sql`d.source_id = c.id and d.environment_id = c.environment_id and d.kind = 'CAMPAIGN'
          and d.queued_on = ${PARTITION}`;

/**
 * The open deliveries `d` of a campaign `c`. No index holds the open ones alone, since each mail would have to be taken out of
 * it: they are looked for from the campaign's front on.
 */
export const isOpenOf = sql`${ofCampaign} and d.finished_at is null
          and (d.next_attempt_at, d.id) >= (c.front_at, c.front_id)`;

/** True for a campaign `c` with an open delivery anywhere, before its front too: reads all of them. */
export const isOpenAnywhere = sql`exists (
  select 1 from messaging.deliveries d where ${ofCampaign} and d.finished_at is null
)`;

/** The id of the first open delivery of a campaign `c`; null when none is. */
export const firstOpenOf = sql`(
  select d.id from messaging.deliveries d where ${isOpenOf} order by d.next_attempt_at, d.id limit 1
)`;

/** Prepares the open transaction to take the first in their order: sorting would read all that are open for each batch. */
export async function walkFromFront(database: Database): Promise<void> {
  await sql`
    select set_config(name, 'off', true) from unnest(array['enable_seqscan', 'enable_bitmapscan', 'enable_sort']) name
  `.execute(database.tables());
}

/**
 * Moves a campaign's front up to its first open delivery, in the open transaction; not while the campaign is locked:
 * a transaction that opens deliveries of it, or moves them back, locks it first.
 */
export async function moveFront(
  database: Database,
  { environmentId }: ProjectScope,
  campaignId: string,
): Promise<void> {
  const tables = database.tables();
  const { rows } = await sql`${named('lock_campaign_front')}
    select 1 from messaging.campaigns c where c.id = ${campaignId} and c.environment_id = ${environmentId}
    for no key update skip locked
  `.execute(tables);
  if (rows.length === 0) return;
  // A statement of its own: it sees what those did who had the lock before.
  await sql`${named('move_campaign_front')}
    update messaging.campaigns c set front_at = first.next_attempt_at, front_id = first.id
    from (
      select d.next_attempt_at, d.id from messaging.campaigns c cross join lateral (
        select d.next_attempt_at, d.id from messaging.deliveries d where ${isOpenOf}
        order by d.next_attempt_at, d.id limit 1
      ) d
      where c.id = ${campaignId} and c.environment_id = ${environmentId}
    ) first
    where c.id = ${campaignId} and c.environment_id = ${environmentId}
      and (c.front_at, c.front_id) < (first.next_attempt_at, first.id)
  `.execute(tables);
}

/** A part of a WITH: moves a campaign's front back to the first of the deliveries in `opened`, which are open from now on. */
export const movingFrontBack = (
  scope: ProjectScope,
  campaignId: string,
  opened: RawBuilder<unknown>,
): RawBuilder<unknown> => sql`
        update messaging.campaigns c set front_at = first.next_attempt_at, front_id = first.id
        from (select o.next_attempt_at, o.id from ${opened} o order by o.next_attempt_at, o.id limit 1) first
        where c.id = ${campaignId} and c.environment_id = ${scope.environmentId}
          and (first.next_attempt_at, first.id) < (c.front_at, c.front_id)
      `;

/**
 * Locks the campaigns of which deliveries `d` of `which` are open, in the open transaction, and moves their fronts back to `to`,
 * before the deliveries are moved.
 */
export async function moveFrontsBack(
  database: Database,
  { environmentId }: ProjectScope,
  which: RawBuilder<unknown>,
  to: Date,
): Promise<void> {
  await sql`
    with locked as materialized (
      select c.id from messaging.campaigns c
      where c.environment_id = ${environmentId} and c.id in (
        select d.source_id from messaging.deliveries d
        where d.environment_id = ${environmentId} and ${which} and d.kind = 'CAMPAIGN' and d.finished_at is null
      )
      order by c.id for no key update
    )
    update messaging.campaigns c set front_at = least(c.front_at, ${to}),
      front_id = case when c.front_at < ${to} then c.front_id else '00000000-0000-0000-0000-000000000000' end
    from locked where c.id = locked.id and c.environment_id = ${environmentId}
  `.execute(database.tables());
}
