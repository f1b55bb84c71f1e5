import { Inject, Injectable } from '@nestjs/common';
import { Database, PeriodicTask, publish } from '#platform';
import { areDue, takeDue } from './breakdowns-due.query.js';
import { CampaignBreakdownDue } from '../writing/campaign-report.events.js';

/** Has the figures of large campaigns by link and provider counted when it is time. */
@Injectable()
export class RequestDueBreakdowns extends PeriodicTask {
  override readonly name = 'request-due-breakdowns';
  override readonly everyMs = 10_000;

  constructor(@Inject(Database) private readonly database: Database) {
    super();
  }

  override async run(): Promise<void> {
    if (!(await this.database.holds(areDue))) return;
    await this.database.system(async () => {
      for (const { campaignId, ...scope } of await takeDue(this.database))
        await publish(this.database, scope, CampaignBreakdownDue({ campaignId }));
    });
  }
}
