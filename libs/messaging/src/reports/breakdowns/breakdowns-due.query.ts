import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { leaseDue, present, presentAnd, type Database } from '#platform';

/** A campaign whose figures by link and provider are to be counted now. */
export interface DueBreakdown extends ProjectScope {
  readonly campaignId: string;
}

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
const AT_ONCE = 20;

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
  campaignId: string,
  { dueAt, earliestAt }: NextCount,
): Promise<void> {
  await sql`
    update messaging.breakdowns_due set due_at = ${dueAt}, earliest_at = ${earliestAt} where campaign_id = ${campaignId}
  `.execute(database.tables());
}

/** For a campaign that is gone. */
export async function forgetDue(database: Database, campaignId: string): Promise<void> {
  await sql`delete from messaging.breakdowns_due where campaign_id = ${campaignId}`.execute(
    database.tables(),
  );
}

/** Of a campaign `c` that has just ended and has no time to be counted yet. */
const isLargeAndEnded = sql`
  c.status = 'SENT' and c.completed_at between ${presentAnd(-MISSED_MS)} and ${present}
  and c.deleted_at is null and not exists (select 1 from messaging.breakdowns_due b where b.campaign_id = c.id)
  and (select sum(k.sent) from messaging.campaign_counters k where k.campaign_id = c.id) > ${COUNTED_AT_ONCE}
`;

/** Whether `takeDue` would find any: a condition for `Database.holds`. */
export const areDue: RawBuilder<unknown> = sql`
  exists (select 1 from messaging.breakdowns_due where due_at <= ${present})
  or exists (select 1 from messaging.campaigns c where ${isLargeAndEnded})
`;

const DUE = leaseDue({
  table: 'messaging.breakdowns_due',
  key: 'campaign_id',
  due: 'due_at',
  limit: AT_ONCE,
  leaseMs: LEASE_MS,
  set: sql`, earliest_at = ${presentAnd(LEASE_MS)}`,
});

/** Those that are due, and large campaigns that have just ended; each is told again when nobody has counted it. */
export async function takeDue(database: Database): Promise<DueBreakdown[]> {
  const lease = presentAnd(LEASE_MS);
  const { rows } = await sql<DueBreakdown>`
    with ended as (
      insert into messaging.breakdowns_due (campaign_id, environment_id, due_at, earliest_at)
      select c.id, c.environment_id, ${lease}, ${lease} from messaging.campaigns c where ${isLargeAndEnded}
      on conflict do nothing
      returning campaign_id, environment_id
    ), taken as (
      ${DUE} returning campaign_id, environment_id
    )
    select a.campaign_id, e.*
    from (select * from ended union all select * from taken) a
      cross join lateral access.find_environment(a.environment_id) e
  `.execute(database.tables());
  return rows;
}
