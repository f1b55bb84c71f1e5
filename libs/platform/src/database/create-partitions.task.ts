import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { PeriodicTask } from '../jobs/periodic-tasks.js';
import { Database } from './database.js';

const MONTHS_AHEAD = 2;
/** Tables that grow with time and are cut by the month. */
const PARTITIONED = [
  'messaging.deliveries',
  'messaging.delivery_events',
  'messaging.delivery_engagement',
  'messaging.automation_steps',
  'audience.consent_ledger',
  'audience.subscriber_events',
];

/** Makes the partitions of the months to come. Without it rows go to the default partition: nothing is lost. */
@Injectable()
export class CreatePartitions extends PeriodicTask {
  override readonly name = 'create-partitions';
  override readonly everyMs = 12 * 60 * 60_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const now = this.clock.now();
    for (const table of PARTITIONED) {
      for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead += 1) {
        const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1))
          .toISOString()
          .slice(0, 10);
        await this.database.system(({ db }) =>
          sql`select platform.ensure_month(${table}::regclass, ${month}::date)`.execute(db),
        );
      }
    }
  }
}
