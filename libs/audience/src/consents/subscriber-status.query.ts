import { type RawBuilder, sql } from 'kysely';
import { STATUS_BY_CONSENT, STATUS_OF_SUPPRESSED, STATUS_WITHOUT_CONSENT } from './subscriber-status.js';

/** `subscriberStatus` as SQL: of a suppression's reason; null where there is none. */
export function statusOfSuppressed(reason: RawBuilder<unknown>): RawBuilder<unknown> {
  const cases = Object.entries(STATUS_OF_SUPPRESSED).map(
    ([one, status]) => sql`when ${sql.lit(one)} then ${sql.lit(status)}`,
  );
  return sql`case ${reason} ${sql.join(cases, sql` `)} end`;
}

/** The same of somebody's consents, all rows of a table called `c`: an aggregate. */
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
 * An UPDATE that derives the statuses of these subscribers anew; those whose status stays are not touched. Said twice rather
 * than joined: while a project grows faster than its statistics, the planner joins by reading all subscribers.
 */
export function refreshedStatuses(subscriberIds: readonly string[], at: Date): RawBuilder<unknown> {
  return sql`
    update audience.subscribers b set status = ${derived}, updated_at = ${at}
    where b.id = any(${[...subscriberIds]}::uuid[]) and b.status <> ${derived}
  `;
}
