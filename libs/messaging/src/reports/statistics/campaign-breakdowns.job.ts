import { Injectable } from '@nestjs/common';
import { EnvironmentsQuery } from '#access';
import { type ProjectScope } from '#kernel';
import {
  cancel,
  Database,
  done,
  drainEnvironments,
  enqueue,
  type JobContext,
  type JobResult,
  jobType,
  Periodic,
  ResumableJob,
} from '#platform';
import {
  areBreakdownsDue,
  CampaignBreakdowns,
  DUE_BREAKDOWNS,
  takeDueBreakdowns,
} from './campaign-breakdowns.service.js';

/** The breakdown of a campaign is to be counted now. */
export const countBreakdown = jobType<{ campaignId: string }>('campaigns.count_breakdown', 'reports');

/** Requests the counts of large campaigns' breakdowns that are due. */
@Injectable()
export class RequestDueBreakdowns {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
  ) {}

  @Periodic('request-due-breakdowns', { everyMs: 10_000 })
  async run(): Promise<void> {
    if (!(await this.database.holds(areBreakdownsDue))) return;
    await drainEnvironments(this.database, DUE_BREAKDOWNS, async (environmentId, most) => {
      const scope = await this.environments.find(environmentId);
      return scope === null ? 0 : this.#request(scope, most);
    });
  }

  async #request(scope: ProjectScope, most: number): Promise<number> {
    const due = await takeDueBreakdowns(this.database, scope, most);
    for (const campaignId of due) await enqueue(this.database, scope, countBreakdown({ campaignId }));
    return due.length;
  }
}

/** Failures after which the periodic task tries again. */
const TRIES = 3;

/** Counts the breakdown of a campaign in advance, so that readers do not wait for it. */
@Injectable()
export class CountBreakdown {
  constructor(private readonly breakdowns: CampaignBreakdowns) {}

  @ResumableJob(countBreakdown)
  async run(
    scope: ProjectScope,
    { campaignId }: { campaignId: string },
    { failures }: JobContext,
  ): Promise<JobResult> {
    if (failures >= TRIES) return cancel('It failed again and again.');
    await this.breakdowns.count(scope, campaignId);
    return done;
  }
}
