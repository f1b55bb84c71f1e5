import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#kernel';
import { Database, PeriodicTask, publish } from '#platform';
import { areDue, takeDue } from './breakdowns-due.query.js';
import { CampaignBreakdownDue } from './campaign-report.events.js';

/** Has the figures of large campaigns by link and provider counted when it is time. */
@Injectable()
export class RequestDueBreakdowns extends PeriodicTask {
  override readonly name = 'request-due-breakdowns';
  override readonly everyMs = 10_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const now = this.clock.now();
    if (!(await this.database.holds('breakdowns-due', areDue(now)))) return;
    await this.database.system(async ({ db }) => {
      for (const { campaignId, ...scope } of await takeDue(db, now))
        await publish(db, scope, CampaignBreakdownDue({ campaignId }));
    });
  }
}
