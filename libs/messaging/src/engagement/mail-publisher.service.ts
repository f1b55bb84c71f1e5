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

  hasListeners(scope: Pick<ProjectScope, 'environmentId'>, type: PublishedEventType): boolean {
    return this.publisher.hasListeners(scope, type);
  }

  /** Mails that the next hop has accepted. */
  sent(deliveries: PublishedDeliveries): Promise<void> {
    return this.#publish(
      deliveries,
      'email.sent',
      facts({ sentAt: timestamp('d.sent_at'), relayKey: sql`d.relay_key` }),
    );
  }

  /** Mails of which a provider says that they arrived. Each once: the event has the delivery's id. */
  delivered(deliveries: PublishedDeliveries): Promise<void> {
    const told = facts({ sentAt: timestamp('d.sent_at'), relayKey: sql`d.relay_key` });
    return this.publisher.publishOnce(
      deliveries,
      'email.delivered',
      sql`
      select m.id, m.subscriber_id, m.data, m.traceparent from (${mailsOf(deliveries, told)}) m
    `,
    );
  }

  /** Mails that the next hop did not accept, for a reason that is no bounce. */
  failed(deliveries: PublishedDeliveries): Promise<void> {
    return this.#publish(
      deliveries,
      'email.failed',
      facts({ reason: sql`d.reason`, detail: sql`d.last_error` }),
    );
  }

  /** Mails that the next hop refused because of the address, and that came back later. `bounceClass`: see docs/bounces.md. */
  bounced(deliveries: PublishedDeliveries, bounceClass: string): Promise<void> {
    const told = facts({ bounceClass: sql`${bounceClass}::text`, detail: sql`d.last_error` });
    return this.#publish(deliveries, 'email.bounced', told);
  }

  complained(deliveries: PublishedDeliveries): Promise<void> {
    return this.#publish(deliveries, 'email.complained', facts({}));
  }

  /** Mails through which their readers unsubscribed. */
  unsubscribed(deliveries: PublishedDeliveries): Promise<void> {
    return this.#publish(deliveries, 'email.unsubscribed', facts({}));
  }

  /** Opens and clicks of the batch that were recorded as people's. */
  async engaged(batch: EventBatch): Promise<void> {
    for (const [type, event] of [
      ['OPENED', 'email.opened'],
      ['CLICKED', 'email.clicked'],
    ] as const) {
      if (!this.publisher.hasListeners(batch, event)) continue;
      const mails = sql`
        select d.*, k.at, k.link_number, k.agent, coalesce(k.url, s.urls[k.link_number]) as url
        from ${batch.rows} join messaging.delivery_events e on e.delivery_id = k.delivery_id
          and e.environment_id = ${batch.environmentId}
          and e.campaign_id is not distinct from k.campaign_id and e.type = k.type and e.occurred_at = k.at
          and e.link_number is not distinct from k.link_number and e.classification = 'human'
        join messaging.deliveries d on d.id = k.delivery_id and d.queued_on = k.queued_on
          and d.environment_id = ${batch.environmentId}
        left join messaging.link_sets s on s.id = k.link_set and s.environment_id = ${batch.environmentId}
        where k.type = ${type}
      `;
      const look = facts({ at: timestamp('d.at'), agent: sql`d.agent` });
      const click = sql`${look} || ${facts({ url: sql`d.url`, linkNumber: sql`d.link_number`, link: sql`d.link_number` })}`;
      await this.publisher.publishRows(
        batch,
        event,
        publishedRows(batch, mails, type === 'CLICKED' ? click : look),
      );
    }
  }

  async #publish(
    deliveries: PublishedDeliveries,
    type: PublishedEventType,
    more: RawBuilder<unknown>,
  ): Promise<void> {
    if (this.publisher.hasListeners(deliveries, type))
      await this.publisher.publishRows(deliveries, type, mailsOf(deliveries, more));
  }
}

const facts = (columns: Readonly<Record<string, RawBuilder<unknown>>>) =>
  sql`jsonb_build_object(${sql.join(
    Object.entries(columns).flatMap(([name, value]) => [sql.lit(name), value]),
  )})`;

const mailsOf = ({ environmentId, ids, queuedOn }: PublishedDeliveries, more: RawBuilder<unknown>) =>
  publishedRows(
    { environmentId },
    sql`select d.* from messaging.deliveries d
      where d.id = any(${[...ids]}::uuid[]) and d.queued_on = ${sql.lit(queuedOn)}::date and d.environment_id = ${environmentId}`,
    more,
  );

/**
 * Rows to be published of `mails`, each with `more` facts of its row `d`; of campaigns' and automations' mail only. The nodes of a
 * version are read once, however many of its mails are told of.
 */
function publishedRows(
  { environmentId }: Pick<ProjectScope, 'environmentId'>,
  mails: RawBuilder<unknown>,
  more: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    with d as materialized (
      select m.*, r.version_id, messaging.place_of_step(m.source_id) as place
      from (${mails}) m left join messaging.automation_runs r
        on m.kind = 'AUTOMATION' and r.id = messaging.run_of_step(m.source_id) and r.environment_id = ${environmentId}
      where m.kind in ('CAMPAIGN', 'AUTOMATION')
    ), nodes as materialized (
      select v.id as version_id, n.place::int - 1 as place, n.node -> 'id' #>> '{}' as node_id, a.automation_key, a.metadata
      from messaging.automation_versions v
      join messaging.automations a on a.id = v.automation_id and a.environment_id = v.environment_id
      cross join lateral json_array_elements(v.nodes::json) with ordinality n(node, place)
      where v.environment_id = ${environmentId} and v.id in (select version_id from d)
    )
    select d.id, d.subscriber_id, jsonb_build_object('deliveryId', d.id, 'kind', d.kind, 'email', d.address,
      'subscriberId', d.subscriber_id, 'campaignId', c.id, 'campaignKey', c.campaign_key, 'automationKey', n.automation_key,
      'nodeId', n.node_id, 'messageId', d.message_id,
      'metadata', coalesce(c.metadata, n.metadata, '{}')) || ${more} as data, null::text as traceparent
    from d left join messaging.campaigns c on c.id = d.source_id and c.environment_id = ${environmentId}
    left join nodes n on n.version_id = d.version_id and n.place = d.place
  `;
}

/** As everywhere in the API: UTC with `Z` and milliseconds, which PostgreSQL's own JSON does not have. */
const timestamp = (column: string) =>
  sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
