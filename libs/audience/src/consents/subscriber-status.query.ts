import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { named } from '#platform';
import {
  STATUS_BY_CONSENT,
  STATUS_OF_SUPPRESSED,
  STATUS_WITHOUT_CONSENT,
  type SubscriberStatus,
} from './consent.js';

type Environment = Pick<ProjectScope, 'environmentId'>;

/** The statuses of subscribers by their ids. */
export type StatusesById = ReadonlyMap<string, SubscriberStatus>;

/** `subscriberStatus` as SQL, from a suppression's reason; null without a suppression. */
export function statusOfSuppressed(reason: RawBuilder<unknown>): RawBuilder<unknown> {
  const cases = Object.entries(STATUS_OF_SUPPRESSED).map(
    ([one, status]) => sql`when ${reason} = ${sql.lit(one)} then ${sql.lit(status)}`,
  );
  return sql`case ${sql.join(cases, sql` `)} end`;
}

/** `subscriberStatus` as an SQL aggregate over a person's consents, the rows of a table `c`. */
export const statusByConsents: RawBuilder<unknown> = sql`case ${sql.join(
  STATUS_BY_CONSENT.map(
    ([consent, status]) => sql`when bool_or(c.status = ${sql.lit(consent)}) then ${sql.lit(status)}`,
  ),
  sql` `,
)} else ${sql.lit(STATUS_WITHOUT_CONSENT)} end`;

/** Statements that write statuses of locked subscribers by their ids, one for each status. */
export function writingStatuses(
  { environmentId }: Environment,
  statusOf: StatusesById,
  at: Date,
): readonly RawBuilder<unknown>[] {
  return [...Map.groupBy(statusOf, ([, status]) => status)].map(([status, people]) => {
    const ids = people.map(([id]) => id);
    // A plan for several that was kept from when there were few people would read all of them.
    const [name, isChosen] =
      ids.length === 1
        ? [named('write_status'), sql`b.id = ${ids[0]}`]
        : [sql``, sql`b.id = any(${ids}::uuid[])`];
    return sql`${name}
      update audience.subscribers b set status = ${status}, updated_at = ${at}
      where b.environment_id = ${environmentId} and ${isChosen} and b.status <> ${status}`;
  });
}

/**
 * Statement that writes the statuses that follow from suppressions and consents. The condition is repeated instead of joined: while a project grows faster than its statistics, the
 * planner would join by reading all subscribers. Without a name, so that no plan is kept from when there were few.
 */
export const refreshingStatuses = (scope: Environment, subscriberIds: readonly string[], at: Date) => sql`
  update audience.subscribers b set status = ${derivedStatus(scope)}, updated_at = ${at}
  where b.environment_id = ${scope.environmentId} and b.id = any(${[...subscriberIds]}::uuid[])
    and b.status <> ${derivedStatus(scope)}`;

/** `subscriberStatus` as SQL for a subscriber `b`. One subselect in all: Citus takes no COALESCE of subselects in an UPDATE. */
const derivedStatus = ({ environmentId }: Environment) => sql`(select coalesce(
  (
    select ${statusOfSuppressed(sql`s.reason`)} from audience.suppressions s
    where s.environment_id = ${environmentId} and s.email_key = b.email_key
  ),
  (
    select ${statusByConsents} from audience.consents c
    where c.environment_id = ${environmentId} and c.subscriber_id = b.id
  )
))`;
