import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { EmailAddress, ProjectScope } from '#kernel';
import { Database } from '#platform';

type Rows = readonly Readonly<Record<string, unknown>>[];

/** All that mail left behind about the owner of an address (GDPR Art. 15), as rows to be printed. */
export interface MailPersonalData {
  readonly deliveries: Rows;
  /** What the person did with those mails. */
  readonly deliveryEvents: Rows;
  /** Their ways through automations, with what came with them. */
  readonly automationRuns: Rows;
  /** Mails of the test environment, whole. */
  readonly testInbox: Rows;
}

/** Whose: a subscriber, or only an address. */
export interface MailPerson {
  readonly address: EmailAddress;
  readonly subscriberId: string | null;
}

/** Reads what mail holds about one person. */
@Injectable()
export class MailPersonalDataQuery {
  constructor(private readonly database: Database) {}

  of(scope: ProjectScope, { address, subscriberId }: MailPerson): Promise<MailPersonalData> {
    const { environmentId } = scope;
    return this.database.transaction(scope, async () => {
      const tables = this.database.tables();
      const deliveries = await sql<Record<string, unknown>>`
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
      `.execute(tables);
      const deliveryEvents = await sql<Record<string, unknown>>`
        select e.type, e.occurred_at, e.delivery_id
        from messaging.delivery_events e
        where e.environment_id = ${environmentId} and e.subscriber_id = ${subscriberId} order by e.occurred_at, e.id
      `.execute(tables);
      const automationRuns = await sql<Record<string, unknown>>`
        select r.id, a.automation_key, r.status, r.entered_at, r.finished_at, d.data
        from messaging.automation_runs r join messaging.automations a
          on a.number = r.automation_number and a.environment_id = r.environment_id
        left join messaging.automation_run_data d on d.run_id = r.id and d.environment_id = r.environment_id
        where r.environment_id = ${environmentId} and r.subscriber_id = ${subscriberId} order by r.entered_at, r.id
      `.execute(tables);
      const testInbox = await sql<Record<string, unknown>>`
        select m.id, m.kind, m.to_address as "to", m.subject, m.received_at, convert_from(m.raw, 'UTF8') as raw
        from messaging.test_inbox_messages m
        where m.environment_id = ${environmentId} and m.to_key = ${address.key} order by m.received_at, m.id
      `.execute(tables);
      return {
        deliveries: deliveries.rows,
        deliveryEvents: deliveryEvents.rows,
        automationRuns: automationRuns.rows,
        testInbox: testInbox.rows,
      };
    });
  }
}
