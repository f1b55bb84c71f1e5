import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock } from '#kernel';
import { SQL_STATE, sqlStateOf } from '../database/database-failure.js';
import { Database } from '../database/database.js';
import { LOGGER } from '../platform.module.js';
import { PeriodicTask } from './periodic-tasks.js';

/** A worker may be away for so long before rows of a month have no place. */
const MONTHS_AHEAD = 6;
/** Tables that grow with time and are cut by the month. */
const PARTITIONED = [
  'messaging.deliveries',
  'messaging.delivery_events',
  'messaging.delivery_engagement',
  'messaging.automation_steps',
  'audience.consent_ledger',
  'audience.subscriber_events',
];

/** Makes the partitions of the months to come, long before there are rows for them. */
@Injectable()
export class CreatePartitions extends PeriodicTask {
  override readonly name = 'create-partitions';
  override readonly everyMs = 60 * 60_000;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const now = this.clock.now();
    const until = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + MONTHS_AHEAD, 1))
      .toISOString()
      .slice(0, 10);
    for (const table of PARTITIONED) await this.#makeMonths(table, until);
  }

  /** A table that somebody else has locked is left for the next time: to wait for it would stop who comes later. */
  async #makeMonths(table: string, until: string): Promise<void> {
    try {
      await this.database.onOwnConnection((client) =>
        client.query('select platform.ensure_months($1::regclass, $2::date)', [table, until]),
      );
    } catch (error) {
      if (sqlStateOf(error) !== SQL_STATE.lockNotAvailable) throw error;
      this.logger.warn(
        { table },
        'new months wait for a lock that somebody else holds; tried again in an hour',
      );
    }
  }
}
