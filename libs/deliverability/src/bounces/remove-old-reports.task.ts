import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database, PeriodicTask } from '#platform';

const KEPT_DAYS = 180;
const DAY_MS = 24 * 60 * 60_000;

/** Removes what reports told half a year ago; what followed from them stays with the deliveries. */
@Injectable()
export class RemoveOldReports extends PeriodicTask {
  override readonly name = 'remove-old-reports';
  override readonly everyMs = 60 * 60_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const oldest = new Date(this.clock.now().getTime() - KEPT_DAYS * DAY_MS);
    await this.database.system(({ db }) =>
      sql`delete from deliverability.reports where reported_at < ${oldest}`.execute(db),
    );
  }
}
