import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { CampaignExpansionService, CampaignQueued } from '#messaging';
import { done, type JobContext, type JobResult, ResumableJob, retry } from '#platform';

/** Writes down the recipients of a campaign that was queued. */
@Injectable()
export class ExpandCampaign extends ResumableJob<{ campaignId: string }> {
  override readonly name = 'expand-campaign';
  override readonly queue = 'campaigns';
  override readonly on = CampaignQueued;

  constructor(@Inject(CampaignExpansionService) private readonly expansion: CampaignExpansionService) {
    super();
  }

  override async run(
    scope: ProjectScope,
    { campaignId }: { campaignId: string },
    { signal }: JobContext,
  ): Promise<JobResult> {
    await this.expansion.expand(scope, campaignId, signal);
    return signal.aborted ? retry('The worker stopped.') : done;
  }
}
