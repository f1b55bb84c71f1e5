import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Database, keptDay, neverJoined } from '#platform';
import { PARTITION } from '../deliveries/campaign-front.query.js';
import { IS_TRACKED } from '../engagement/link-sets.service.js';

/** A sent campaign whose opens were recorded, with the partition of its deliveries, `2026-03-01`. */
interface OpenableCampaign {
  readonly id: string;
  readonly queuedOn: string;
}

/** The campaign of this key; null where its opens were not recorded, or its deliveries are no longer kept. */
export async function findOpenable(
  database: Database,
  scope: ProjectScope,
  campaignKey: string,
): Promise<OpenableCampaign | null> {
  return database.transaction(scope, async () => {
    const day = await keptDay(database, scope, 'DELIVERIES');
    const { rows } = await sql<OpenableCampaign>`
      select c.id, ${PARTITION}::text as queued_on from messaging.campaigns c
      where c.campaign_key = ${campaignKey} and c.environment_id = ${scope.environmentId} and ${PARTITION} >= ${day}::date
        and ${IS_TRACKED}
    `.execute(database.tables());
    return rows[0] ?? null;
  });
}

/** Condition that stays true of a subscriber who got a mail and did not open it; `oneByOne` where few are asked about. */
type IsUnopened = (subscriberId: RawBuilder<unknown>, oneByOne?: boolean) => RawBuilder<boolean>;

/**
 * SQL condition: the subscriber with this id got the campaign of this key, which did not come back, and no person opened it.
 * False for a campaign that `findOpenable` does not find.
 */
export async function gotUnopened(
  database: Database,
  scope: ProjectScope,
  campaignKey: string,
): Promise<IsUnopened> {
  const { environmentId } = scope;
  const campaign = await findOpenable(database, scope, campaignKey);
  if (campaign === null) return () => sql`false`;
  const { id, queuedOn } = campaign;
  const queued = sql`${queuedOn}::date`;
  return (subscriberId, oneByOne = false) => sql`exists (
    select 1 from messaging.deliveries u
    where u.source_id = ${id} and u.subscriber_id = ${subscriberId} and u.queued_on = ${queued} and u.environment_id = ${environmentId}
      and u.state = 'SENT' and u.bounced_at is null and not exists (
        select 1 from messaging.delivery_engagement g
        where g.delivery_id = u.id and g.queued_on = ${queued} and g.environment_id = ${environmentId} and g.opens > 0
      ) ${oneByOne ? neverJoined : sql``}
  )`;
}
