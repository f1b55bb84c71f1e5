import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, neverJoined, Publisher } from '#platform';
import type { EventBatch } from './event-batch.query.js';
import { messageFacts, timestamp } from './message-outcomes.service.js';

/** An open or a click sooner after acceptance is a program's. */
const TOO_SOON = sql.lit('2 seconds');

/** A recorded click. */
interface RecordedClick {
  readonly deliveryId: string;
  readonly at: Date;
  readonly id: string | null;
}

/** Records and publishes opens and clicks of messages, in the open transaction; a delivery's id is that of the message. */
@Injectable()
export class MessageLooksService {
  constructor(
    private readonly database: Database,
    private readonly publisher: Publisher,
  ) {}

  /** Makes those wait who write about the same messages, or erase them: nothing is written about somebody who is erased. */
  async lock(batch: EventBatch): Promise<void> {
    await sql`
      select 1 from messaging.messages m
      where m.environment_id = ${batch.environmentId} and m.id = any(array(select k.delivery_id from ${batch.rows}))
      order by m.id for update
    `.execute(this.database.tables());
  }

  /** `bursts`: places of clicks in a burst; `mistaken`: recorded clicks that were taken for a person's. */
  async write(
    batch: EventBatch,
    bursts: readonly number[],
    mistaken: readonly RecordedClick[],
  ): Promise<void> {
    const { environmentId } = batch;
    await sql`
      with given as materialized (
        select k.*, case when m.first_sight = 'human' and k.position = any(${[...bursts]}::bigint[]) then 'scanner'
          else m.first_sight end as classification
        from ${batch.rows} cross join lateral (
          select coalesce(k.known, case
            when m.sent_at is null then case when m.finished_at is null then 'scanner' else 'human' end
            when k.at - m.sent_at < interval ${TOO_SOON} then 'scanner' else 'human' end) as first_sight
          from messaging.messages m
          where m.id = k.delivery_id and m.environment_id = ${environmentId} and m.to_digest is not null
          ${neverJoined}
        ) m
      ), written as (
        insert into messaging.message_events (environment_id, message_id, occurred_at, id, type, classification, agent, url, link_number)
        select ${environmentId}, delivery_id, at, platform.new_id(), type, classification, agent, url, link_number from given
        returning 1
      )
      select count(*) from written
    `.execute(this.database.tables());
    if (mistaken.length > 0)
      await sql`
        update messaging.message_events e set classification = 'scanner'
        from jsonb_to_recordset(${JSON.stringify(mistaken)}::jsonb) as k("deliveryId" uuid, id uuid, at timestamptz)
        where e.environment_id = ${environmentId} and e.message_id = k."deliveryId" and e.occurred_at = k.at and e.id = k.id
      `.execute(this.database.tables());
    await this.#publish(batch);
  }

  async #publish(batch: EventBatch): Promise<void> {
    const { environmentId } = batch;
    for (const [type, event] of [
      ['OPENED', 'message.opened'],
      ['CLICKED', 'message.clicked'],
    ] as const) {
      if (!this.publisher.hasListeners(batch, event)) continue;
      const link = type === 'CLICKED' ? sql`, 'url', k.url, 'linkNumber', k.link_number` : sql``;
      await this.publisher.publishRows(
        batch,
        event,
        sql`
          select d.subscriber_id, ${messageFacts} || jsonb_build_object('at', ${timestamp('k.at')}, 'agent', k.agent${link}) as data,
            null::text as traceparent
          from ${batch.rows} join messaging.message_events e on e.environment_id = ${environmentId} and e.message_id = k.delivery_id
            and e.occurred_at = k.at and e.type = k.type and e.link_number is not distinct from k.link_number
            and e.classification = 'human'
          join messaging.messages m on m.id = k.delivery_id and m.environment_id = ${environmentId}
          join messaging.deliveries d on d.id = m.id and d.queued_on = m.queued_on and d.environment_id = ${environmentId}
          where k.type = ${type}
        `,
      );
    }
  }
}

/** SELECT of recorded clicks of messages around `mails`, as a part of the candidates for bursts. */
export const olderClicksOfMessages = ({ environmentId }: EventBatch): RawBuilder<unknown> => sql`
    select m.delivery_id, e.occurred_at, coalesce(e.link_number, 0), null::bigint, e.id, e.classification
    from mails m cross join lateral (
      select e.occurred_at, e.link_number, e.id, e.classification from messaging.message_events e
      where e.environment_id = ${environmentId} and e.message_id = m.delivery_id and e.type = 'CLICKED'
        and e.occurred_at between m.earliest and m.latest
      ${neverJoined}
    ) e
  `;
