import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { before, type OldRows, RemoveOldRows } from './remove-old-rows.js';

const DAY_MS = 24 * 60 * 60_000;
/** Long past any repeat of an event: until then the row is what makes a job run once. */
const KEPT_MS = 7 * DAY_MS;
const FAILED_KEPT_MS = 90 * DAY_MS;

/** Clears away inbox rows of jobs that ended: after a week, failed ones after 90 days. */
@Injectable()
export class RemoveFinishedJobs extends RemoveOldRows {
  override readonly name = 'platform.remove_finished_jobs';
  override readonly everyMs = 60 * 60_000;

  protected override old(now: Date): OldRows[] {
    const where = sql`finished_at < ${before(now, KEPT_MS)}
      and (state <> 'FAILED' or finished_at < ${before(now, FAILED_KEPT_MS)})`;
    return [{ table: 'platform.inbox', where }];
  }
}
