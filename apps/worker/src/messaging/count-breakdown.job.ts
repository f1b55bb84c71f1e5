import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { CampaignBreakdownDue, CampaignBreakdowns } from '#messaging';
import { cancel, done, type JobContext, type JobResult, ResumableJob } from '#platform';

/** After this many failures the periodic task tries again. */
const TRIES = 3;

/** Counts the figures of a campaign by link and provider in advance, so that readers do not wait for them. */
@Injectable()
export class CountBreakdown extends ResumableJob<{ campaignId: string }> {
  override readonly name = 'count-breakdown';
  override readonly queue = 'reports';
  override readonly on = CampaignBreakdownDue;

  constructor(private readonly breakdowns: CampaignBreakdowns) {
    super();
  }

  override async run(
    scope: ProjectScope,
    { campaignId }: { campaignId: string },
    { failures }: JobContext,
  ): Promise<JobResult> {
    if (failures >= TRIES) return cancel('It failed again and again.');
    await this.breakdowns.count(scope, campaignId);
    return done;
  }
}
