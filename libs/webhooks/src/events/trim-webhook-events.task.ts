import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database, PeriodicTask } from '#platform';

const DAY_MS = 86_400_000;
const KEPT_DAYS = 30;
const AT_ONCE = 10_000;

/** Forgets what was told more than 30 days ago, with its log. */
@Injectable()
export class TrimWebhookEvents extends PeriodicTask {
  override readonly name = 'trim-webhook-events';
  override readonly everyMs = 3_600_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const before = new Date(this.clock.now().getTime() - KEPT_DAYS * DAY_MS);
    for (;;) {
      const { numAffectedRows = 0n } = await this.database.system(({ db }) =>
        sql`
          delete from webhooks.events where id in (
            select id from webhooks.events where occurred_at < ${before} order by occurred_at limit ${AT_ONCE}
          )
        `.execute(db),
      );
      if (numAffectedRows < AT_ONCE) return;
    }
  }
}
