import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { present } from '../database/clock.js';
import { before, type OldRows, RemoveOldRows } from './remove-old-rows.js';

const DAY_MS = 24 * 60 * 60_000;
/** Long past any repeat by the queue: until then the row is what makes a job run once. */
const JOBS_KEPT_MS = 7 * DAY_MS;
const FAILED_JOBS_KEPT_MS = 90 * DAY_MS;

/** Removes jobs that ended, idempotency keys a day after their request, and the windows of clients that have not come again. */
@Injectable()
export class RemoveExpiredRows extends RemoveOldRows {
  override readonly name = 'platform.remove_expired_rows';
  override readonly everyMs = 10 * 60_000;

  protected override old(now: Date): OldRows[] {
    const isFinished = sql`finished_at < ${before(now, JOBS_KEPT_MS)}
      and (state <> 'FAILED' or finished_at < ${before(now, FAILED_JOBS_KEPT_MS)})`;
    return [
      { table: 'platform.jobs', where: isFinished, isOfInstallation: true },
      { table: 'platform.idempotency_keys', where: sql`expires_at <= ${present}` },
      {
        table: 'platform.rate_limit_windows',
        where: sql`window_ends_at < clock_timestamp()`,
        isOfInstallation: true,
      },
    ];
  }
}
