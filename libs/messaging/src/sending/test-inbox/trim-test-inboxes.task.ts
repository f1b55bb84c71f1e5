import { Injectable } from '@nestjs/common';
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
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const oldest = new Date(this.clock.now().getTime() - KEPT_DAYS * 24 * 60 * 60_000);
    const full = await this.database.system(async () => {
      const tables = this.database.tables<MessagingTables>();
      await tables.deleteFrom('messaging.test_inbox_messages').where('receivedAt', '<', oldest).execute();
      return tables
        .selectFrom('messaging.test_inbox_messages')
        .select('environmentId')
        .groupBy('environmentId')
        .having((eb) => eb.fn.countAll(), '>', KEPT_MESSAGES)
        .execute();
    });
    for (const { environmentId } of full) await this.#trim(environmentId);
  }

  async #trim(environmentId: number): Promise<void> {
    await this.database.system(() =>
      sql`
        delete from messaging.test_inbox_messages
        where environment_id = ${environmentId} and (received_at, id) < (
          select received_at, id from messaging.test_inbox_messages where environment_id = ${environmentId}
          order by received_at desc, id desc offset ${KEPT_MESSAGES - 1} limit 1
        )
      `.execute(this.database.tables()),
    );
  }
}
