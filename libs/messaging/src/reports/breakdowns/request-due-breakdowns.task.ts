import { Injectable } from '@nestjs/common';
import { EnvironmentsQuery } from '#access';
import type { ProjectScope } from '#kernel';
import { Database, drainEnvironments, PeriodicTask, publish } from '#platform';
import { CampaignBreakdownDue } from '../writing/campaign-report.events.js';
import { areDue, DUE_BREAKDOWNS, takeDue } from './breakdowns-due.query.js';

/** Has the figures of large campaigns by link and provider counted when it is time. */
@Injectable()
export class RequestDueBreakdowns extends PeriodicTask {
  override readonly name = 'request-due-breakdowns';
  override readonly everyMs = 10_000;

  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
  ) {
    super();
  }

  override async run(): Promise<void> {
    if (!(await this.database.holds(areDue))) return;
    await drainEnvironments(this.database, DUE_BREAKDOWNS, async (environmentId, most) => {
      const scope = await this.environments.find(environmentId);
      return scope === null ? 0 : this.#request(scope, most);
    });
  }

  async #request(scope: ProjectScope, most: number): Promise<number> {
    const due = await takeDue(this.database, scope, most);
    for (const campaignId of due) await publish(this.database, scope, CampaignBreakdownDue({ campaignId }));
    return due.length;
  }
}
