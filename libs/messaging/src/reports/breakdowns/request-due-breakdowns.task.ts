import { Inject, Injectable } from '@nestjs/common';
import { EnvironmentsQuery } from '#access';
import { Database, PeriodicTask, publish } from '#platform';
import { CampaignBreakdownDue } from '../writing/campaign-report.events.js';
import { areDue, environmentsDue, takeDue } from './breakdowns-due.query.js';

/** Has the figures of large campaigns by link and provider counted when it is time. */
@Injectable()
export class RequestDueBreakdowns extends PeriodicTask {
  override readonly name = 'request-due-breakdowns';
  override readonly everyMs = 10_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(EnvironmentsQuery) private readonly environments: EnvironmentsQuery,
  ) {
    super();
  }

  override async run(): Promise<void> {
    if (!(await this.database.holds(areDue))) return;
    for (const environmentId of await this.database.system(() => environmentsDue(this.database)))
      await this.#request(environmentId);
  }

  async #request(environmentId: number): Promise<void> {
    const scope = await this.environments.find(environmentId);
    if (scope === null) return;
    await this.database.system(async () => {
      for (const campaignId of await takeDue(this.database, scope))
        await publish(this.database, scope, CampaignBreakdownDue({ campaignId }));
    });
  }
}
