import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database } from '../database/database.js';
import { PeriodicTask } from './periodic-tasks.js';

const DAY_MS = 24 * 60 * 60_000;
/** Long past any repeat of an event: until then the row is what makes a job run once. */
const KEPT_MS = 7 * DAY_MS;
const FAILED_KEPT_MS = 90 * DAY_MS;
const BATCH = 10_000;

/** Clears away inbox rows of jobs that ended: after a week, failed ones after 90 days. */
@Injectable()
export class RemoveFinishedJobs extends PeriodicTask {
  override readonly name = 'platform.remove_finished_jobs';
  override readonly everyMs = 60 * 60_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    while ((await this.#removeBatch()) === BATCH);
  }

  #removeBatch(): Promise<number> {
    const now = this.clock.now().getTime();
    return this.database.system(async ({ db }) => {
      const { numAffectedRows } = await sql`
        delete from platform.inbox where id in (
          select id from platform.inbox
          where finished_at < ${new Date(now - KEPT_MS)} and (state <> 'FAILED' or finished_at < ${new Date(now - FAILED_KEPT_MS)})
          limit ${BATCH}
        )
      `.execute(db);
      return Number(numAffectedRows);
    });
  }
}
