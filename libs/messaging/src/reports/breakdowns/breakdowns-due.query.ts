import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Database, environmentOf, leaseDue, present, presentAnd } from '#platform';

/** When a campaign's figures are counted next: by themselves, and at the earliest when somebody looks. */
export interface NextCount {
  readonly dueAt: Date;
  readonly earliestAt: Date;
}

/** A campaign with more mails than these, which take a quarter of a second, is counted by a worker. */
export const COUNTED_AT_ONCE = 50_000;
/** A campaign that has ended longer ago without a worker waits until somebody looks. */
const MISSED_MS = 600_000;
/** A worker that has not counted by then is taken for dead. */
const LEASE_MS = 600_000;

/** Has a campaign counted as soon as possible. */
export async function bringForward(
  database: Database,
  { environmentId }: ProjectScope,
  campaignId: string,
  now: Date,
): Promise<void> {
  await sql`
    insert into messaging.breakdowns_due as b (campaign_id, environment_id, due_at, earliest_at)
    values (${campaignId}, ${environmentId}, ${now}, ${now})
    on conflict (campaign_id, environment_id) do update set due_at = greatest(b.earliest_at, excluded.due_at)
      where b.due_at > greatest(b.earliest_at, excluded.due_at)
  `.execute(database.tables());
}

/** Writes down when a campaign that was counted is counted next; nothing for one that nobody counts by itself. */
export async function postpone(
  database: Database,
  { environmentId }: ProjectScope,
  campaignId: string,
  { dueAt, earliestAt }: NextCount,
): Promise<void> {
  await sql`
    update messaging.breakdowns_due set due_at = ${dueAt}, earliest_at = ${earliestAt}
    where campaign_id = ${campaignId} and environment_id = ${environmentId}
  `.execute(database.tables());
}

/** For a campaign that is gone. */
export async function forgetDue(
  database: Database,
  { environmentId }: ProjectScope,
  campaignId: string,
): Promise<void> {
  await sql`
    delete from messaging.breakdowns_due where campaign_id = ${campaignId} and environment_id = ${environmentId}
  `.execute(database.tables());
}

/** Of a campaign `c` that has just ended and has no time to be counted yet. */
const isLargeAndEnded = sql`
  c.status = 'SENT' and c.completed_at between ${presentAnd(-MISSED_MS)} and ${present}
  and c.deleted_at is null and not exists (
    select 1 from messaging.breakdowns_due b where b.campaign_id = c.id and b.environment_id = c.environment_id
  )
  and (select sum(k.sent) from messaging.campaign_counters k
    where k.campaign_id = c.id and k.environment_id = c.environment_id) > ${COUNTED_AT_ONCE}
`;

const isDue = sql`due_at <= ${present}`;

/** Whether any campaign is to be counted now: a condition for `Database.holds`. */
export const areDue: RawBuilder<unknown> = sql`
  exists (select 1 from messaging.breakdowns_due where ${isDue})
  or exists (select 1 from messaging.campaigns c where ${isLargeAndEnded})
`;

/** Such campaigns, for `drainEnvironments`: so many in one transaction. */
export const DUE_BREAKDOWNS = {
  rows: sql`(
    select environment_id from messaging.breakdowns_due where ${isDue}
    union all select c.environment_id from messaging.campaigns c where ${isLargeAndEnded}
  ) due`,
  batch: 20,
};

/**
 * So many campaigns of an environment that are due, and those large ones that have just ended; each is told again when nobody has
 * counted it.
 */
export async function takeDue(database: Database, scope: ProjectScope, most: number): Promise<string[]> {
  const { environmentId } = scope;
  const lease = presentAnd(LEASE_MS);
  const due = leaseDue({
    table: 'messaging.breakdowns_due',
    key: 'campaign_id',
    environmentId,
    due: 'due_at',
    limit: most,
    leaseMs: LEASE_MS,
    set: sql`, earliest_at = ${lease}`,
  });
  const { rows } = await sql<{ campaignId: string }>`
    with ended as (
      insert into messaging.breakdowns_due (campaign_id, environment_id, due_at, earliest_at)
      select c.id, c.environment_id, ${lease}, ${lease} from messaging.campaigns c
      where c.environment_id = ${environmentOf(scope)} and ${isLargeAndEnded}
      on conflict do nothing
      returning campaign_id
    ), taken as (
      ${due} returning campaign_id
    )
    select * from ended union all select * from taken
  `.execute(database.tables());
  return rows.map(({ campaignId }) => campaignId);
}
