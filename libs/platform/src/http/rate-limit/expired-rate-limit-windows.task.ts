import { sql } from 'kysely';
import type { Database } from '../../database/database.js';
import { PeriodicTask } from '../../jobs/periodic-tasks.js';

/** Removes the windows of keys and addresses that have not come again. */
export class ExpiredRateLimitWindowsTask extends PeriodicTask {
  override readonly name = 'platform.expired_rate_limit_windows';
  override readonly everyMs = 10 * 60 * 1000;

  constructor(private readonly database: Database) {
    super();
  }

  override async run(): Promise<void> {
    await this.database.system(() =>
      sql`delete from platform.rate_limit_windows where window_ends_at < clock_timestamp()`.execute(
        this.database.tables(),
      ),
    );
  }
}
