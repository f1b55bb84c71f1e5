import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { CampaignClosingService, CampaignStopped } from '#messaging';
import { done, type JobContext, type JobResult, ResumableJob, snooze } from '#platform';

const LOOK_AGAIN_MS = 1_000;

/** Cancels the open deliveries of a campaign that was cancelled or failed. */
@Injectable()
export class CloseCampaign extends ResumableJob<{ campaignId: string }> {
  override readonly name = 'close-campaign';
  override readonly queue = 'campaigns';
  override readonly on = CampaignStopped;

  constructor(
    private readonly closing: CampaignClosingService,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async run(
    scope: ProjectScope,
    { campaignId }: { campaignId: string },
    { signal }: JobContext,
  ): Promise<JobResult> {
    if ((await this.closing.close(scope, campaignId, signal)) === 'closed') return done;
    return snooze(new Date(this.clock.now().getTime() + LOOK_AGAIN_MS));
  }
}
