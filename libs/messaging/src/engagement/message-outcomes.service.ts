import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { bounceClassesOf } from '#deliverability';
import type { ProjectScope, PublishedEventType } from '#kernel';
import { before, Database, named, Publisher } from '#platform';

/** Refusals of the address, which are told as bounces. */
export const BOUNCES = bounceClassesOf(({ address }) => address !== 'keep');

/** Messages are scheduled 30 days ahead at most, and relays give up within days. */
const HEARD_OF_MS = 45 * 24 * 60 * 60_000;

/** Kinds of what is heard of a message's mail after a mail server took it. */
export type MessageFeedback = 'DELIVERED' | 'BOUNCED' | 'COMPLAINED';

const FEEDBACK_EVENTS = {
  DELIVERED: 'message.delivered',
  BOUNCED: 'message.bounced',
  COMPLAINED: 'message.complained',
} as const satisfies Record<MessageFeedback, PublishedEventType>;

/** Facts that an event has beside its message `m`, whose mail to `to` is `d`. */
const FACTS = {
  'message.sent': sql`'sentAt', ${timestamp('d.sent_at')}, 'relayKey', d.relay_key`,
  'message.delivered': sql`'sentAt', ${timestamp('d.sent_at')}, 'relayKey', d.relay_key`,
  'message.bounced': sql`'bounceClass', coalesce(d.bounce_class, d.reason), 'detail', d.last_error`,
  'message.complained': sql`'relayKey', d.relay_key`,
  'message.failed': sql`'reason', d.reason, 'detail', d.last_error`,
  'message.suppressed': sql`'reason', d.reason`,
} as const satisfies Partial<Record<PublishedEventType, RawBuilder<unknown>>>;
type OutcomeEvent = keyof typeof FACTS;

/**
 * Writes what became of messages, in the open transaction, and publishes it. A message has the status of its mail to `to`, whose id
 * is the message's own; copies tell nothing.
 */
@Injectable()
export class MessageOutcomesService {
  constructor(
    private readonly database: Database,
    private readonly publisher: Publisher,
  ) {}

  /** True for an environment with messages so young that something of them may still be heard. */
  async areUnderWay(scope: ProjectScope, now: Date): Promise<boolean> {
    const [found] = await this.database.statement(
      scope,
      sql<{ is: boolean }>`${named('messages_under_way')}
        select exists (
          select 1 from messaging.messages m
          where m.environment_id = ${scope.environmentId} and m.created_at > ${before(now, HEARD_OF_MS)}
        ) as is`,
    );
    return found?.is === true;
  }

  /** Mails of messages have ended; the status follows, unless more was heard of the message already. */
  async settle({ environmentId }: ProjectScope, deliveryIds: readonly string[]): Promise<void> {
    const ended = sql`messaging.deliveries e where e.id = any(${[...deliveryIds]}::uuid[]) and e.environment_id = ${environmentId}
      and e.kind = 'MESSAGE' and e.finished_at is not null`;
    // Locked before anything is read: of copies that end at once, the last sees that the others have.
    const locking = sql`/* lock_messages */
      select 1 from messaging.messages m
      where m.environment_id = ${environmentId} and m.id = any(array(select e.source_id from ${ended})) order by m.id for update
    `;
    const settling = sql<{ id: string; event: OutcomeEvent }>`/* settle_messages */
      with told as materialized (
        select e.id, case
            when e.state = 'SENT' then 'SENT'
            when e.state = 'SKIPPED' and e.reason = 'expired' then 'EXPIRED'
            when e.state = 'SKIPPED' and e.reason in ('suppressed', 'unsubscribed', 'paused') then 'SUPPRESSED'
            when e.state = 'FAILED' and e.reason = any(${[...BOUNCES]}::text[]) then 'BOUNCED'
            else 'FAILED'
          end as status, case when e.state <> 'SENT' then coalesce(e.last_error, e.reason) end as failure_reason,
          e.reason, e.sent_at, e.finished_at, e.relay_key
        from ${ended} and e.id = e.source_id
      ), settled as (
        update messaging.messages m set status = case when m.status in ('SCHEDULED', 'QUEUED') then t.status else m.status end,
          failure_reason = t.failure_reason, sent_at = t.sent_at, relay_key = t.relay_key, finished_at = t.finished_at,
          updated_at = platform.now()
        from told t where m.id = t.id and m.environment_id = ${environmentId}
        returning m.id, t.status, t.finished_at, t.reason, t.relay_key, t.status = 'SENT' or m.status = t.status as is_news
      ), noted as (
        insert into messaging.message_events (environment_id, message_id, occurred_at, id, type, reason, relay_key)
        select ${environmentId}, s.id, s.finished_at, platform.new_id(), s.status, case when s.status <> 'SENT' then s.reason end,
          s.relay_key
        from settled s where s.is_news
        returning message_id, type
      )
      select message_id as id, 'message.' || case type when 'EXPIRED' then 'failed' else lower(type) end as event from noted
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
    const [, settled] = await this.database.together(locking, settling, forgetting);
    for (const [event, ofOne] of Map.groupBy(settled, (each) => each.event)) {
      const ids = ofOne.map(({ id }) => id);
      await this.#publish({ environmentId }, event, ids);
    }
  }

  /** Something came back of these mails of messages, each once. */
  async heard(
    { environmentId }: ProjectScope,
    deliveryIds: readonly string[],
    status: MessageFeedback,
  ): Promise<void> {
    // A provider may tell of a mail before it is written down that it was sent.
    const earlier = ['SCHEDULED', 'QUEUED', 'SENT', ...(status === 'DELIVERED' ? [] : ['DELIVERED'])];
    const [changed] = await this.database.together(sql<{ id: string }>`/* note_messages */
      with heard as (
        update messaging.messages set status = ${status}, updated_at = platform.now(),
          delivered_at = case when ${status}::text = 'DELIVERED' then platform.now() else delivered_at end
        where environment_id = ${environmentId} and id = any(${[...deliveryIds]}::uuid[]) and status = any(${earlier}::text[])
        returning id, queued_on
      ), noted as (
        insert into messaging.message_events (environment_id, message_id, occurred_at, id, type, reason, relay_key)
        select ${environmentId}, h.id, platform.now(), platform.new_id(), ${status}::text, d.bounce_class, d.relay_key
        from heard h join messaging.deliveries d on d.id = h.id and d.queued_on = h.queued_on and d.environment_id = ${environmentId}
        returning message_id
      )
      select message_id as id from noted
    `);
    const ids = changed.map(({ id }) => id);
    if (ids.length > 0) await this.#publish({ environmentId }, FEEDBACK_EVENTS[status], ids);
  }

  async #publish(
    { environmentId }: Pick<ProjectScope, 'environmentId'>,
    event: OutcomeEvent,
    ids: readonly string[],
  ): Promise<void> {
    if (!this.publisher.hasListeners({ environmentId }, event)) return;
    await this.publisher.publishRows(
      { environmentId },
      event,
      sql`
        select d.subscriber_id, ${messageFacts} || jsonb_build_object(${FACTS[event]}) as data, d.traceparent
        from messaging.messages m join messaging.deliveries d
          on d.id = m.id and d.queued_on = m.queued_on and d.environment_id = m.environment_id
        where m.environment_id = ${environmentId} and m.id = any(${[...ids]}::uuid[])
      `,
    );
  }
}

/** Facts of a message `m` that every event about it has; `d` is its mail. An erased person has no address. */
export const messageFacts = sql`jsonb_build_object('messageId', m.id, 'to', nullif(m.to_email, ''), 'subscriberId', d.subscriber_id,
  'topicKey', m.topic_key, 'tags', m.tags, 'metadata', m.metadata)`;

/** As everywhere in the API: UTC with `Z` and milliseconds, which PostgreSQL's own JSON does not have. */
export function timestamp(column: string): RawBuilder<unknown> {
  return sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
