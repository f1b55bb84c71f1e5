import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { CampaignDispatchService, CampaignQueued } from '#messaging';
import { cancel, doneUnlessAborted, type JobContext, type JobResult, ResumableJob } from '#platform';

/** Creates the deliveries of a queued campaign. */
@Injectable()
export class ExpandCampaign extends ResumableJob<{ campaignId: string }> {
  override readonly name = 'expand-campaign';
  override readonly queue = 'campaigns';
  override readonly on = CampaignQueued;

  constructor(private readonly campaigns: CampaignDispatchService) {
    super();
  }

  override async run(
    scope: ProjectScope,
    { campaignId }: { campaignId: string },
    context: JobContext,
  ): Promise<JobResult> {
    const failure = await this.campaigns.dispatch(scope, campaignId, context);
    if (failure !== null) return cancel(failure);
    return doneUnlessAborted(context.signal);
  }
}
