import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database, PeriodicTask } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';

const KEPT_DAYS = 30;
const KEPT_MESSAGES = 10_000;

/** Keeps each test inbox to 30 days and to its newest 10 000 messages. */
@Injectable()
export class TrimTestInboxes extends PeriodicTask {
  override readonly name = 'trim-test-inboxes';
  override readonly everyMs = 10 * 60_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const oldest = new Date(this.clock.now().getTime() - KEPT_DAYS * 24 * 60 * 60_000);
    await this.database.system(async () => {
      const tables = this.database.tables<MessagingTables>();
      await tables.deleteFrom('messaging.test_inbox_messages').where('receivedAt', '<', oldest).execute();
      await sql`
        delete from messaging.test_inbox_messages m using (
          select environment_id, count(*) from messaging.test_inbox_messages
          group by environment_id having count(*) > ${KEPT_MESSAGES}
        ) full_inbox, lateral (
          select received_at, id from messaging.test_inbox_messages
          where environment_id = full_inbox.environment_id
          order by received_at desc, id desc offset ${KEPT_MESSAGES - 1} limit 1
        ) last_kept
        where m.environment_id = full_inbox.environment_id and (m.received_at, m.id) < (last_kept.received_at, last_kept.id)
      `.execute(tables);
    });
  }
}
