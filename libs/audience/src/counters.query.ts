import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import type { SubscriberStatus, SuppressionReason } from './consents/consent.js';

/** The number of subscribers, or of those with one status: an SQL value of type bigint. */
export function subscriberCount(scope: ProjectScope, status?: SubscriberStatus): RawBuilder<number> {
  return sumOf(scope, sql`v.kind = 'SUBSCRIBERS'`, status);
}

interface Moments {
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
}

/**
 * The number of subscribers created between two times (exclusive), or of those with one status. Adds up the counters of
 * whole days and counts the rows of the first and last day.
 */
export function createdCount(
  scope: ProjectScope,
  { createdAfter, createdBefore }: Moments,
  status?: SubscriberStatus,
): RawBuilder<number> {
  const first = createdAfter === undefined ? undefined : dayOf(createdAfter);
  const last = createdBefore === undefined ? undefined : dayOf(createdBefore);
  const created = (condition: RawBuilder<unknown>) => sql`audience.subscribers b
    where b.environment_id = ${scope.environmentId} ${status === undefined ? sql`` : sql`and b.status = ${status}`}
      and ${condition}`;
  if (first !== undefined && first === last) {
    return sql<number>`(select count(*) from ${created(
      sql`b.created_at > ${createdAfter} and b.created_at < ${createdBefore}`,
    )})`;
  }
  const partOf = (day: string, isWanted: RawBuilder<unknown>) => {
    const isOfDay = sql`b.created_at >= ${startOf(day)} and b.created_at < ${endOf(day)}`;
    return countOrRest(
      sumOf(scope, sql`v.kind = 'CREATED' and v.key = ${day}`, status),
      created(sql`${isOfDay} and ${isWanted}`),
      created(sql`${isOfDay} and not (${isWanted})`),
    );
  };
  const wholeDays = sql`v.kind = 'CREATED'
    ${first === undefined ? sql`` : sql`and v.key > ${first}`} ${last === undefined ? sql`` : sql`and v.key < ${last}`}`;
  return sql<number>`(${sumOf(scope, wholeDays, status)}
    ${first === undefined ? sql`` : sql`+ ${partOf(first, sql`b.created_at > ${createdAfter}`)}`}
    ${last === undefined ? sql`` : sql`+ ${partOf(last, sql`b.created_at < ${createdBefore}`)}`})`;
}

/** The number of subscribers changed after a time. */
export function changedCount(scope: ProjectScope, updatedAfter: Date): RawBuilder<number> {
  const changed = (isWanted: RawBuilder<unknown>) =>
    sql`audience.subscribers b where b.environment_id = ${scope.environmentId} and ${isWanted}`;
  return countOrRest(
    subscriberCount(scope),
    changed(sql`b.updated_at > ${updatedAfter}`),
    changed(sql`b.updated_at <= ${updatedAfter}`),
  );
}

/** Rows that are counted at once. */
const FEW = 10_000;
/** Rows that are counted first: mostly one side of a time has no more. */
const HANDFUL = 500;

/**
 * A count of what matches, by counting the rest where that is the short way: after a large import it is. Each side is
 * counted a little first, so that neither waits for a long count of the other.
 */
function countOrRest(
  all: RawBuilder<number>,
  matching: RawBuilder<unknown>,
  rest: RawBuilder<unknown>,
): RawBuilder<number> {
  const upTo = (most: number, rows: RawBuilder<unknown>) =>
    sql`select count(*) as quantity from (select 1 from ${rows} limit ${most}) few`;
  const step = (most: number, ofMatching: string, ofRest: string) => sql`
      when (select quantity from ${sql.ref(ofMatching)}) < ${most} then (select quantity from ${sql.ref(ofMatching)})
      when (select quantity from ${sql.ref(ofRest)}) < ${most} then ${all} - (select quantity from ${sql.ref(ofRest)})`;
  return sql<number>`(
    with m1 as materialized (${upTo(HANDFUL, matching)}), r1 as materialized (${upTo(HANDFUL, rest)}),
      m2 as materialized (${upTo(FEW, matching)}), r2 as materialized (${upTo(FEW, rest)})
    select case ${step(HANDFUL, 'm1', 'r1')} ${step(FEW, 'm2', 'r2')}
      else (select count(*) from ${matching}) end
  )`;
}

/** The number of suppressed addresses, or of those with one reason; without erased ones. */
export function suppressionCount(scope: ProjectScope, reason?: SuppressionReason): RawBuilder<number> {
  return sumOf(scope, sql`v.kind = 'SUPPRESSIONS'`, reason);
}

/** The number of consents to a topic that are subscribed or pending, or of those with one status. */
export function topicSubscriberCount(
  scope: ProjectScope,
  topicId: RawBuilder<unknown>,
  status?: SubscriberStatus,
): RawBuilder<number> {
  return sumOf(scope, sql`${isConsent} and v.key = ${topicId}::text`, status);
}

/** A SELECT of the counts `subscribers` of a topic and `active`: those who are subscribed and not suppressed. */
export function topicCounts(scope: ProjectScope, topicId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select coalesce(sum(v.value), 0)::bigint as subscribers,
      coalesce(sum(v.value) filter (
        where v.kind = 'SUBSCRIBED' and v.state not in ('SUPPRESSED', 'COMPLAINED', 'BOUNCED')
      ), 0)::bigint as active
    from audience.counter_values v
    where v.environment_id = ${scope.environmentId} and ${isConsent} and v.key = ${topicId}::text
  `;
}

const isConsent = sql`v.kind in ('SUBSCRIBED', 'PENDING_CONFIRMATION')`;

const DAY_MS = 86_400_000;

/** The day in UTC, in the form of `audience.day_of`. */
function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}

function startOf(day: string): Date {
  return new Date(day);
}

function endOf(day: string): Date {
  return new Date(Date.parse(day) + DAY_MS);
}

function sumOf(
  scope: ProjectScope,
  counter: RawBuilder<unknown>,
  state: string | undefined,
): RawBuilder<number> {
  return sql<number>`(
    select coalesce(sum(v.value), 0)::bigint from audience.counter_values v
    where v.environment_id = ${scope.environmentId} and ${counter}
      ${state === undefined ? sql`` : sql`and v.state = ${state}`}
  )`;
}
