import { type RawBuilder, sql } from 'kysely';
import { STATUS_BY_CONSENT, STATUS_OF_SUPPRESSED, STATUS_WITHOUT_CONSENT } from './subscriber-status.js';

/** `subscriberStatus` as SQL, from a suppression's reason; null without a suppression. */
export function statusOfSuppressed(reason: RawBuilder<unknown>): RawBuilder<unknown> {
  const cases = Object.entries(STATUS_OF_SUPPRESSED).map(
    ([one, status]) => sql`when ${sql.lit(one)} then ${sql.lit(status)}`,
  );
  return sql`case ${reason} ${sql.join(cases, sql` `)} end`;
}

/** `subscriberStatus` as an SQL aggregate over a person's consents, the rows of a table `c`. */
export const statusByConsents: RawBuilder<unknown> = sql`case ${sql.join(
  STATUS_BY_CONSENT.map(
    ([consent, status]) => sql`when bool_or(c.status = ${sql.lit(consent)}) then ${sql.lit(status)}`,
  ),
  sql` `,
)} else ${sql.lit(STATUS_WITHOUT_CONSENT)} end`;

const derived = sql`coalesce(
  (
    select ${statusOfSuppressed(sql`s.reason`)} from audience.suppressions s
    where s.environment_id = b.environment_id and s.email_key = b.email_key
  ),
  (select ${statusByConsents} from audience.consents c where c.subscriber_id = b.id)
)`;

/**
 * An UPDATE that derives the statuses of these subscribers again and writes only those that change. It repeats the
 * condition instead of joining: while a project grows faster than its statistics, the planner would join by reading all
 * subscribers.
 */
export function refreshedStatuses(subscriberIds: readonly string[], at: Date): RawBuilder<unknown> {
  return sql`
    update audience.subscribers b set status = ${derived}, updated_at = ${at}
    where b.id = any(${[...subscriberIds]}::uuid[]) and b.status <> ${derived}
  `;
}
