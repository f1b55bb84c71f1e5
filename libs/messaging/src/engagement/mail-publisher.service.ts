import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope, PublishedEventType } from '#kernel';
import { Publisher } from '#platform';
import type { EventBatch } from './event-batch.query.js';

/** Deliveries of one environment and partition. */
export interface PublishedDeliveries {
  readonly environmentId: number;
  readonly ids: readonly string[];
  /** The day of their partition, `YYYY-MM-DD`. */
  readonly queuedOn: string;
}

/** Publishes the fate of mail, set by set, each in the transaction that records it. */
@Injectable()
export class MailPublisherService {
  constructor(private readonly publisher: Publisher) {}

  hasDeliveredListeners(scope: ProjectScope): boolean {
    return this.publisher.hasListeners(scope, 'email.delivered');
  }

  /** Mails that the next hop has accepted. */
  delivered(deliveries: PublishedDeliveries): Promise<void> {
    const facts = sql`jsonb_build_object('sentAt', ${timestamp('d.sent_at')})`;
    return this.#publish(deliveries, 'email.delivered', facts);
  }

  /** Mails that the next hop refused because of the address, and that came back later. `bounceClass`: see docs/bounces.md. */
  bounced(deliveries: PublishedDeliveries, bounceClass: string): Promise<void> {
    const facts = sql`jsonb_build_object('bounceClass', ${bounceClass}::text, 'detail', d.last_error)`;
    return this.#publish(deliveries, 'email.bounced', facts);
  }

  complained(deliveries: PublishedDeliveries): Promise<void> {
    return this.#publish(deliveries, 'email.complained', sql`'{}'::jsonb`);
  }

  /** Events are published for the mail of campaigns and automations only. */
  #publish(
    { environmentId, ids, queuedOn }: PublishedDeliveries,
    type: PublishedEventType,
    facts: RawBuilder<unknown>,
  ): Promise<void> {
    const rows = sql`
      select d.subscriber_id, ${FACTS} || ${facts} as data
      from messaging.deliveries d left join messaging.campaigns c on c.id = d.source_id and c.environment_id = d.environment_id
      where d.id = any(${[...ids]}::uuid[]) and d.queued_on = ${sql.lit(queuedOn)}::date
        and d.environment_id = ${environmentId} and d.kind in ('CAMPAIGN', 'AUTOMATION')
    `;
    return this.publisher.publishRows({ environmentId }, type, rows);
  }

  /** Opens and clicks of the batch that were recorded as people's. */
  async engaged(batch: EventBatch): Promise<void> {
    for (const [type, event] of [
      ['OPENED', 'email.opened'],
      ['CLICKED', 'email.clicked'],
    ] as const) {
      await this.publisher.publishRows(
        batch,
        event,
        sql`
          select d.subscriber_id,
            ${FACTS} || jsonb_build_object('at', ${timestamp('e.occurred_at')}, 'link', e.link_number) as data
          from ${batch.rows} join messaging.delivery_events e on e.delivery_id = k.delivery_id
            and e.environment_id = ${batch.environmentId}
            and e.campaign_id is not distinct from k.campaign_id and e.type = k.type and e.occurred_at = k.at
            and e.link_number is not distinct from k.link_number and e.classification = 'human'
          join messaging.deliveries d on d.id = k.delivery_id and d.queued_on = k.queued_on
            and d.environment_id = ${batch.environmentId}
          left join messaging.campaigns c on c.id = d.source_id and c.environment_id = d.environment_id
          where k.type = ${type}
        `,
      );
    }
  }
}

/** As everywhere in the API: UTC with `Z` and milliseconds, which PostgreSQL's own JSON does not have. */
const timestamp = (column: string) =>
  sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const FACTS = sql`jsonb_build_object('deliveryId', d.id, 'kind', d.kind, 'email', d.address, 'subscriberId', d.subscriber_id,
  'campaignId', c.id, 'campaignKey', c.campaign_key, 'messageId', d.message_id)`;
