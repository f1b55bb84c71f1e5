import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import type { Database } from '#platform';

/**
 * Writes into messages, in the open transaction, what became of these mails of theirs, which have ended. Each message has the status
 * of its mail to `to`, whose id is the message's own, unless more was heard of it already.
 */
export async function settleMessages(
  database: Database,
  { environmentId }: ProjectScope,
  deliveryIds: readonly string[],
  bounces: readonly string[],
): Promise<void> {
  const ended = sql`messaging.deliveries e where e.id = any(${[...deliveryIds]}::uuid[]) and e.environment_id = ${environmentId}
      and e.kind = 'MESSAGE' and e.finished_at is not null`;
  // Locked before anything is read: of copies that end at once, the last sees that the others have.
  const locking = sql`/* lock_messages */
    select 1 from messaging.messages m
    where m.environment_id = ${environmentId} and m.id = any(array(select e.source_id from ${ended})) order by m.id for update
  `;
  const settling = sql`/* settle_messages */
    with told as materialized (
      select e.id, e.state, e.reason, e.last_error, e.sent_at, e.finished_at, e.relay_key from ${ended} and e.id = e.source_id
    ), settled as (
      update messaging.messages m set
        status = case
          when m.status not in ('SCHEDULED', 'QUEUED') then m.status
          when t.state = 'SENT' then 'SENT'
          when t.state = 'SKIPPED' and t.reason = 'expired' then 'EXPIRED'
          when t.state = 'SKIPPED' and t.reason in ('suppressed', 'unsubscribed', 'paused') then 'SUPPRESSED'
          when t.state = 'FAILED' and t.reason = any(${[...bounces]}::text[]) then 'BOUNCED'
          else 'FAILED'
        end,
        failure_reason = case when t.state <> 'SENT' then coalesce(t.last_error, t.reason) end,
        sent_at = t.sent_at, relay_key = t.relay_key, finished_at = t.finished_at, updated_at = platform.now()
      from told t where m.id = t.id and m.environment_id = ${environmentId}
      returning m.id
    )
    select count(*) from settled
  `;
  const forgetting = sql`/* forget_messages */
    with over as (
      update messaging.messages m set sealed_content = null, attachments_key = null
      where m.environment_id = ${environmentId} and (m.sealed_content is not null or m.attachments_key is not null)
        and m.id = any(array(select e.source_id from ${ended})) and not exists (
          select 1 from messaging.deliveries d
          where d.environment_id = ${environmentId} and d.source_id = m.id and d.kind = 'MESSAGE' and d.finished_at is null
        )
      returning m.id
    ), removed as (
      delete from messaging.message_attachments a using over where a.environment_id = ${environmentId} and a.message_id = over.id
      returning 1
    )
    select count(*) from removed
  `;
  await database.together(locking, settling, forgetting);
}

/** Notes, in the open transaction, what came back of these mails, as far as they are those of messages to `to`. */
export async function noteMessageFeedback(
  database: Database,
  { environmentId }: ProjectScope,
  deliveryIds: readonly string[],
  status: 'DELIVERED' | 'BOUNCED' | 'COMPLAINED',
): Promise<void> {
  // A provider may tell of a mail before it is written down that it was sent.
  const before = ['SCHEDULED', 'QUEUED', 'SENT', ...(status === 'DELIVERED' ? [] : ['DELIVERED'])];
  await sql`
    update messaging.messages set status = ${status}, updated_at = platform.now(),
      delivered_at = case when ${status}::text = 'DELIVERED' then platform.now() else delivered_at end
    where environment_id = ${environmentId} and id = any(${[...deliveryIds]}::uuid[]) and status = any(${before}::text[])
  `.execute(database.tables());
}
