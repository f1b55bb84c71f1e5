import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { Clock } from '#kernel';
import { present } from '../database/clock.js';
import { SQL_STATE, sqlStateOf } from '../database/database-failure.js';
import { Database } from '../database/database.js';
import { LOGGER } from '../platform.module.js';
import { Periodic } from './periodic-tasks.js';
import { before, removeOldRows } from './drain.js';

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

const DAY_MS = 24 * 60 * 60_000;
/** Long past any repeat by the queue: until then the row is what makes a job run once. */
const JOBS_KEPT_MS = 7 * DAY_MS;
const FAILED_JOBS_KEPT_MS = 90 * DAY_MS;

/** Keeps the platform's tables in order. */
@Injectable()
export class HousekeepingService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Makes the partitions of the months to come, long before there are rows for them. */
  @Periodic('create-partitions', { everyMs: 60 * 60_000 })
  async createPartitions(): Promise<void> {
    const now = this.clock.now();
    const until = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + MONTHS_AHEAD, 1))
      .toISOString()
      .slice(0, 10);
    for (const table of PARTITIONED) await this.#makeMonths(table, until);
  }

  /** Removes jobs that ended, requests of the log and idempotency keys after a day, and the windows of clients that have not come again. */
  @Periodic('platform.remove_expired_rows', { everyMs: 10 * 60_000 })
  removeExpiredRows(): Promise<void> {
    const now = this.clock.now();
    const isFinished = sql`finished_at < ${before(now, JOBS_KEPT_MS)}
      and (state <> 'FAILED' or finished_at < ${before(now, FAILED_JOBS_KEPT_MS)})`;
    return removeOldRows(
      this.database,
      { table: 'platform.jobs', where: isFinished, isOfInstallation: true },
      { table: 'platform.idempotency_keys', where: sql`expires_at <= ${present}` },
      { table: 'platform.request_log', where: sql`answered_at < ${before(now, DAY_MS)}` },
      {
        table: 'platform.rate_limit_windows',
        where: sql`window_ends_at < clock_timestamp()`,
        isOfInstallation: true,
      },
    );
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
