import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database, PeriodicTask } from '#platform';

const KEPT_MS = 60 * 60_000;

/** Removes what limits nobody any more: an hour without a mail fills every budget. */
@Injectable()
export class RemoveOldThrottling extends PeriodicTask {
  override readonly name = 'remove-old-throttling';
  override readonly everyMs = 60 * 60_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const oldest = new Date(this.clock.now().getTime() - KEPT_MS);
    await this.database.system(async ({ db }) => {
      await sql`delete from deliverability.slowed_destinations where slow_until < ${oldest}`.execute(db);
      await sql`delete from deliverability.distrust_reports where reported_at < ${oldest}`.execute(db);
      await sql`delete from deliverability.destination_lines where ends_at < ${oldest}`.execute(db);
      await sql`delete from deliverability.destination_budgets where refilled_at < ${oldest}`.execute(db);
    });
  }
}
