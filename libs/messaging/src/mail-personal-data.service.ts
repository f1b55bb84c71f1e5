import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { AddressDigestsService } from '#audience';
import { Clock, type EmailAddress, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { eraseRuns } from './automations/runs/run.repository.js';
import { moveFrontsBack } from './deliveries/campaign-front.query.js';
import { wakeSenders } from './deliveries/delivery-queue.query.js';
import { keepErasedMails } from './deliveries/linked-mails.service.js';
import { forgetBreakdowns } from './reports/statistics/campaign-breakdowns.service.js';
import { eraseExports } from './reports/exports/report-exports.service.js';

type Rows = readonly Readonly<Record<string, unknown>>[];

/** Data about the owner of an address (GDPR Art. 15), as rows to be printed. */
export interface MailPersonalData {
  readonly deliveries: Rows;
  /** Opens, clicks, bounces … of those mails. */
  readonly deliveryEvents: Rows;
  /** Runs through automations, with the data of their entry. */
  readonly automationRuns: Rows;
  /** Whole mails of the test environment. */
  readonly testInbox: Rows;
}

/** A subscriber, or only an address. */
export interface MailPerson {
  readonly address: EmailAddress;
  readonly subscriberId: string | null;
}

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

  of(scope: ProjectScope, { address, subscriberId }: MailPerson): Promise<MailPersonalData> {
    const { environmentId } = scope;
    return this.database.transaction(scope, async () => {
      const rowsOf = async (statement: RawBuilder<Record<string, unknown>>): Promise<Rows> =>
        (await statement.execute(this.database.tables())).rows;
      return {
        deliveries: await rowsOf(sql`
          select d.id, d.kind, c.campaign_key, d.address, d.locale, d.message_id, d.state, d.reason, d.attempt as attempts,
            d.last_error, d.created_at, d.sent_at, d.bounced_at
          from (
            select * from messaging.deliveries where environment_id = ${environmentId} and subscriber_id = ${subscriberId}
            union all
            select * from messaging.deliveries
            where environment_id = ${environmentId} and kind = 'TEST' and subscriber_id is null and address_key = ${address.key}
          ) d
          left join messaging.campaigns c on c.id = d.source_id and c.environment_id = d.environment_id
          order by d.created_at, d.id
        `),
        deliveryEvents: await rowsOf(sql`
          select e.type, e.occurred_at, e.delivery_id
          from messaging.delivery_events e
          where e.environment_id = ${environmentId} and e.subscriber_id = ${subscriberId} order by e.occurred_at, e.id
        `),
        automationRuns: await rowsOf(sql`
          select r.id, a.automation_key, r.status, r.entered_at, r.finished_at, d.data
          from messaging.automation_runs r join messaging.automations a
            on a.number = r.automation_number and a.environment_id = r.environment_id
          left join messaging.automation_run_data d on d.run_id = r.id and d.environment_id = r.environment_id
          where r.environment_id = ${environmentId} and r.subscriber_id = ${subscriberId} order by r.entered_at, r.id
        `),
        testInbox: await rowsOf(sql`
          select m.id, m.kind, m.to_address as "to", m.subject, m.received_at, convert_from(m.raw, 'UTF8') as raw
          from messaging.test_inbox_messages m
          where m.environment_id = ${environmentId} and m.to_key = ${address.key} order by m.received_at, m.id
        `),
      };
    });
  }

  /**
   * Removes a person from mail's data in the open transaction; safe to repeat. Deliveries stay as anonymous rows, so that a
   * campaign's numbers stay; for 60 days the links of recent ones find the address by its digest.
   */
  async erase(scope: ProjectScope, { subscriberId, addressDigest }: ErasedPerson): Promise<void> {
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
    await keepErasedMails(this.database, scope, { subscriberId, digest }, now);
    await forgetBreakdowns(this.database, scope, subscriberId);
    await eraseExports(this.database, scope, sql`d.subscriber_id = ${subscriberId}`, now);
    await moveFrontsBack(this.database, scope, sql`d.subscriber_id = ${subscriberId}`, now);
    await this.#depersonalise(scope, sql`d.subscriber_id = ${subscriberId}`, now);
    // Test mails belong to no subscriber: only the address identifies them.
    const ofAddress = sql`d.kind = 'TEST' and ${this.digests.ofColumn(scope, sql`d.address_key`)} = ${digest}`;
    await this.#depersonalise(scope, ofAddress, now);
    await sql`
      update messaging.delivery_events set subscriber_id = null
      where environment_id = ${environmentId} and subscriber_id = ${subscriberId}
    `.execute(tables);
    await eraseRuns(this.database, scope, subscriberId, now);
    wakeSenders(this.database);
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
