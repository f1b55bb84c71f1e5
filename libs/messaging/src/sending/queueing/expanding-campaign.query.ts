import { type NotNull, type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Database, present } from '#platform';
import { PARTITION } from '../../deliveries/partition.query.js';
import type { MessagingTables } from '../../messaging-tables.js';

/** A campaign whose recipients are being queued, locked; see `lockToExpand`. */
export type ExpandingCampaign = NonNullable<Awaited<ReturnType<typeof lockToExpand>>>;

export interface ExpansionProgress {
  /** The recipients that are queued by now. */
  readonly emails: number;
  readonly cursor: string | null;
  readonly isComplete: boolean;
}

/** Whether a campaign `c` gets no further than PAUSED: its author paused it, or its project's sending is stopped. */
const holds = (environmentId: number) => sql<boolean>`(c.status = 'PAUSED' or exists (
  select 1 from messaging.sending_stops s where s.environment_id = ${environmentId}::bigint and s.resumed_at is null
))`;

/** Locks the campaign; undefined when it is expanded, or no longer to be sent. */
export function lockToExpand(database: Database, { environmentId }: ProjectScope, id: string) {
  return database
    .tables<MessagingTables>()
    .selectFrom('messaging.campaigns as c')
    .select([
      'id',
      'environmentId',
      'topicIds',
      'segmentIds',
      'audienceAt',
      'expansionCursor',
      'scheduledAtLocal',
    ])
    .select(['usagePeriod', 'reservedEmails', 'expandedEmails', PARTITION.as('queuedOn')])
    .select(sql<boolean>`c.audience_at > c.queued_at`.as('isSentAgain'))
    .select(holds(environmentId).as('isHeld'))
    .where('id', '=', id)
    .where('environmentId', '=', environmentId)
    .where('expandedAt', 'is', null)
    .where('status', 'in', ['QUEUED_FOR_SENDING', 'SENDING', 'PAUSED'])
    .$narrowType<{ audienceAt: NotNull }>()
    .forUpdate()
    .executeTakeFirst();
}

/** Writes the progress of the campaign down. */
export async function advance(
  database: Database,
  { id, environmentId, isHeld, usagePeriod, reservedEmails }: ExpandingCampaign,
  { emails, cursor, isComplete }: ExpansionProgress,
): Promise<void> {
  const reserved = isComplete ? emails : Math.max(emails, reservedEmails);
  await database
    .tables<MessagingTables>()
    .updateTable('messaging.campaigns')
    .set({
      status: isHeld ? 'PAUSED' : 'SENDING',
      updatedAt: present,
      expandedEmails: emails,
      reservedEmails: usagePeriod === null ? 0 : reserved,
      expansionCursor: cursor,
      ...(isComplete ? { expandedAt: present, estimatedRecipientCount: emails, estimatedAt: present } : {}),
    })
    .where('id', '=', id)
    .where('environmentId', '=', environmentId)
    .execute();
}

/** Of a campaign that failed and is sent again, puts back those deliveries to the `page` of recipients that reached nobody. */
export function reopening(
  { id, environmentId, queuedOn, audienceAt, isSentAgain }: ExpandingCampaign,
  dueAt: RawBuilder<Date>,
): RawBuilder<unknown> {
  if (!isSentAgain) return sql`select d.next_attempt_at, d.id from messaging.deliveries d where false`;
  return sql`
    update messaging.deliveries d set state = 'PENDING', reason = null, last_error = null, attempt = 0, finished_at = null,
      locale = page.locale,
      created_at = ${audienceAt}, next_attempt_at = ${dueAt}, due_since = null
    from page
    where d.source_id = ${id} and d.environment_id = ${environmentId} and d.subscriber_id = page.subscriber_id
      and (d.state = 'CANCELLED' or (d.state = 'FAILED' and d.reason = 'config'))
      and d.queued_on = ${queuedOn}::date
    returning d.next_attempt_at, d.id
  `;
}
