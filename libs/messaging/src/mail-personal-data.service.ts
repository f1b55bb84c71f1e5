import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { AddressDigestsService, type OwnedAddress, type RowPages } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { Database, ListOrder, pagesOf } from '#platform';
import { eraseRuns } from './automations/runs/run.repository.js';
import { moveFrontsBack } from './deliveries/campaign-front.query.js';
import { wakeSenders } from './deliveries/delivery-queue.query.js';
import { keepErasedMails } from './deliveries/linked-mails.service.js';
import { forgetAttachments } from './messages/message-attachments.service.js';
import { forgetBreakdowns } from './reports/statistics/campaign-breakdowns.service.js';
import { eraseExports } from './reports/exports/report-exports.service.js';

/** Data about the owner of an address (GDPR Art. 15), as rows to be printed, oldest first. */
export interface MailPersonalData {
  /** Mails, and what became of them. */
  readonly deliveries: RowPages;
  /** Opens, clicks, bounces … of those mails. */
  readonly deliveryEvents: RowPages;
  /** Runs through automations, with the data of their entry. */
  readonly automationRuns: RowPages;
  /** Messages to the address, with what they are made of as long as it is kept; sealed content is not shown. */
  readonly messages: RowPages;
  /** Attempts, replies, opens, clicks … of those messages. */
  readonly messageEvents: RowPages;
  /** Whole mails of the test environment. */
  readonly testInbox: RowPages;
}

/** Rows on a page; whole mails are large. */
const PAGE = 500;
const MAILS_ON_PAGE = 10;

/** An erased person: no address, only the keys that find the rows. */
export interface ErasedPerson {
  readonly subscriberId: string;
  /** The keyed digest of the address, in hex. */
  readonly addressDigest: string;
}

/** Reads and erases mail's data about one person. */
@Injectable()
export class MailPersonalDataService {
  constructor(
    private readonly database: Database,
    private readonly digests: AddressDigestsService,
    private readonly clock: Clock,
  ) {}

  of(scope: ProjectScope, { key, subscriberId }: OwnedAddress): MailPersonalData {
    const { environmentId } = scope;
    const pages = (rows: RawBuilder<Record<string, unknown>>, time: string, size = PAGE): RowPages => {
      const order = new ListOrder(
        [
          [time, 'timestamptz'],
          ['id', 'uuid'],
        ],
        'asc',
      );
      return pagesOf(this.database, scope, { rows, order, size });
    };
    const deliveries = sql<Record<string, unknown>>`
      select d.id, d.kind, c.campaign_key, d.variant, a.automation_key, d.address, d.locale, d.message_id, d.relay_key, d.provider_message_id,
        d.state, d.reason, d.attempt as attempts, d.possible_duplicate, d.last_error, d.created_at, d.sent_at, d.finished_at,
        d.bounced_at, d.bounce_type, d.bounce_class, coalesce(g.opens, 0) as opens, coalesce(g.clicks, 0) as clicks,
        g.first_opened_at, g.first_clicked_at, g.unsubscribed_at, g.complained_at
      from (
        select * from messaging.deliveries where environment_id = ${environmentId} and subscriber_id = ${subscriberId}
        union all
        select * from messaging.deliveries
        where environment_id = ${environmentId} and kind = 'TEST' and subscriber_id is null and address_key = ${key}
        union all
        select d.* from messaging.messages m join messaging.deliveries d on d.source_id = m.id and d.environment_id = m.environment_id
        where m.environment_id = ${environmentId} and m.to_digest = ${this.digests.of(scope, key)} and d.kind = 'MESSAGE' and d.queued_on = m.queued_on
          and d.subscriber_id is null and d.address_key = ${key}
      ) d
      left join messaging.campaigns c on c.id = d.source_id and c.environment_id = ${environmentId}
      left join messaging.automation_runs r
        on d.kind = 'AUTOMATION' and r.id = messaging.run_of_step(d.source_id) and r.environment_id = ${environmentId}
      left join messaging.automations a on a.number = r.automation_number and a.environment_id = ${environmentId}
      left join messaging.delivery_engagement g
        on g.delivery_id = d.id and g.queued_on = d.queued_on and g.environment_id = ${environmentId}
    `;
    const deliveryEvents = sql<Record<string, unknown>>`
      select e.id, e.type, e.occurred_at, e.delivery_id, e.bounce_type, coalesce(e.url, s.urls[e.link_number]) as url,
        e.link_number, e.classification, e.agent
      from messaging.delivery_events e left join messaging.link_sets s on s.id = e.link_set and s.environment_id = e.environment_id
      where e.environment_id = ${environmentId} and e.subscriber_id = ${subscriberId}
    `;
    const automationRuns = sql<Record<string, unknown>>`
      select r.id, a.automation_key, r.status, r.entered_at, r.finished_at, d.data, array(
          select json_build_object('at', to_char(s.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'status', s.status,
            'detail', s.detail)
          from messaging.automation_steps s
          where s.environment_id = r.environment_id and s.run_id = r.id and s.entered_on = (r.entered_at at time zone 'UTC')::date
          order by s.at, s.position
        ) as steps
      from messaging.automation_runs r join messaging.automations a
        on a.number = r.automation_number and a.environment_id = r.environment_id
      left join messaging.automation_run_data d on d.run_id = r.id and d.environment_id = r.environment_id
      where r.environment_id = ${environmentId} and r.subscriber_id = ${subscriberId}
    `;
    const messages = sql<Record<string, unknown>>`
      select m.id, m.status, m.to_email as "to", m.subject, m.purpose, m.topic_key, m.template_key, m.template_version, m.tags, m.metadata, m.locale, m.keep, m.track_opens,
        m.track_clicks, m.ambiguous, m.content,
        m.relay_key, m.failure_reason, m.scheduled_at, m.expires_at, m.sent_at, m.delivered_at, m.finished_at, m.created_at, m.updated_at
      from messaging.messages m where m.environment_id = ${environmentId} and m.to_digest = ${this.digests.of(scope, key)}
    `;
    const messageEvents = sql<Record<string, unknown>>`
      select e.id, e.type, e.occurred_at, e.message_id, e.reply, e.reason, e.relay_key, e.classification, e.agent, e.url, e.link_number
      from messaging.messages m join messaging.message_events e on e.message_id = m.id and e.environment_id = m.environment_id
      where m.environment_id = ${environmentId} and m.to_digest = ${this.digests.of(scope, key)}
    `;
    const testInbox = sql<Record<string, unknown>>`
      select m.id, m.kind, m.to_address as "to", m.from_address as "from", m.subject, m.received_at,
        convert_from(m.raw, 'UTF8') as raw
      from messaging.test_inbox_messages m where m.environment_id = ${environmentId} and m.to_key = ${key}
    `;
    return {
      deliveries: pages(deliveries, 'created_at'),
      deliveryEvents: pages(deliveryEvents, 'occurred_at'),
      automationRuns: pages(automationRuns, 'entered_at'),
      messages: pages(messages, 'created_at'),
      messageEvents: pages(messageEvents, 'occurred_at'),
      testInbox: pages(testInbox, 'received_at', MAILS_ON_PAGE),
    };
  }

  /** The ids of the messages to the owner of an address. */
  async messageIdsOf(scope: ProjectScope, { key }: OwnedAddress): Promise<readonly string[]> {
    const rows = await this.database.statement(
      scope,
      sql<{ id: string }>`
        select m.id from messaging.messages m
        where m.environment_id = ${scope.environmentId} and m.to_digest = ${this.digests.of(scope, key)}
      `,
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Removes a person from mail's data in the open transaction; safe to repeat. Deliveries stay as anonymous rows, so that a
   * campaign's numbers stay; for 60 days the links of recent ones find the address by its digest. Resolves to the ids of the
   * messages to the person.
   */
  async erase(
    scope: ProjectScope,
    { subscriberId, addressDigest }: ErasedPerson,
  ): Promise<readonly string[]> {
    const tables = this.database.tables();
    const now = this.clock.now();
    const digest = Buffer.from(addressDigest, 'hex');
    const { environmentId } = scope;
    await sql`
      delete from messaging.test_inbox_messages
      where environment_id = ${environmentId} and to_key = any(array(
        select m.to_key from messaging.test_inbox_messages m
        where m.environment_id = ${environmentId} and ${this.digests.ofColumn(scope, sql`m.to_key`)} = ${digest}
      ))
    `.execute(tables);
    const digestOfMail = this.digests.ofColumn(scope, sql`d.address_key`);
    await keepErasedMails(this.database, scope, { subscriberId, digest: digestOfMail }, now);
    await forgetBreakdowns(this.database, scope, subscriberId);
    await eraseExports(this.database, scope, sql`d.subscriber_id = ${subscriberId}`, now);
    await moveFrontsBack(this.database, scope, sql`d.subscriber_id = ${subscriberId}`, now);
    await this.#depersonalise(scope, sql`d.subscriber_id = ${subscriberId}`, now);
    // Test mails, and messages to who was no subscriber then: only the address identifies them.
    const ofMessages = sql`d.kind = 'MESSAGE' and d.source_id = any(array(
      select m.id from messaging.messages m where m.environment_id = ${environmentId} and m.to_digest = ${digest}
      union all
      select c.message_id from messaging.message_copies c where c.environment_id = ${environmentId} and c.digest = ${digest}
    ))`;
    for (const which of [sql`d.kind = 'TEST'`, ofMessages])
      await this.#depersonalise(scope, sql`${which} and ${digestOfMail} = ${digest}`, now);
    const messageIds = await this.#eraseMessages(scope, digest);
    await sql`
      update messaging.delivery_events set subscriber_id = null
      where environment_id = ${environmentId} and subscriber_id = ${subscriberId}
    `.execute(tables);
    await eraseRuns(this.database, scope, subscriberId, now);
    wakeSenders(this.database);
    return messageIds;
  }

  /** Removes messages' content about a person, whom they were to or who got a copy. */
  async #eraseMessages(scope: ProjectScope, digest: Buffer): Promise<readonly string[]> {
    const { environmentId } = scope;
    const erased = sql`select m.id from messaging.messages m where m.environment_id = ${environmentId} and m.to_digest = ${digest}`;
    await forgetAttachments(scope, sql`message_id = any(array(${erased}))`).execute(this.database.tables());
    const { rows } = await sql<{ id: string }>`
      update messaging.messages set subject = null, to_email = '', to_digest = null, failure_reason = null, metadata = '{}',
        content = null, sealed_content = null, attachments_key = null
      where environment_id = ${environmentId} and to_digest = ${digest}
      returning id
    `.execute(this.database.tables());
    const ids = rows.map(({ id }) => id);
    await sql`
      update messaging.message_events set reply = null, url = null
      where environment_id = ${environmentId} and message_id = any(${ids}::uuid[])
    `.execute(this.database.tables());
    await sql`
      delete from messaging.link_sets where environment_id = ${environmentId} and message_id = any(${ids}::uuid[])
    `.execute(this.database.tables());
    // A copy: the others still get theirs.
    await sql`
      with copied as (
        delete from messaging.message_copies where environment_id = ${environmentId} and digest = ${digest} returning message_id
      )
      update messaging.messages m set content = jsonb_set(m.content, '{cc}', '[]') from copied
      where m.environment_id = ${environmentId} and m.id = copied.message_id and m.content is not null
    `.execute(this.database.tables());
    return ids;
  }

  /**
   * Makes open deliveries due, and takes them from the senders that claimed them: claimed again, they are skipped and settled.
   * A mail on the wire is completed.
   */
  async #depersonalise(
    { environmentId }: ProjectScope,
    which: RawBuilder<unknown>,
    now: Date,
  ): Promise<void> {
    await sql`
      update messaging.deliveries d set subscriber_id = null, address = '', address_key = 'erased:' || d.id,
        locale = null, last_error = null, state = case when d.state = 'CLAIMED' then 'PENDING' else d.state end,
        lease_token = case when d.state = 'CLAIMED' then null else d.lease_token end,
        lease_until = case when d.state = 'CLAIMED' then null else d.lease_until end,
        next_attempt_at = case when d.finished_at is null then least(d.next_attempt_at, ${now}) else d.next_attempt_at end
      where d.environment_id = ${environmentId} and ${which}
    `.execute(this.database.tables());
  }
}
