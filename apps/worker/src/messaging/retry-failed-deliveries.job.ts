import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { CampaignRetried, CampaignRetryDeliveriesService } from '#messaging';
import { doneUnlessAborted, type JobContext, type JobResult, ResumableJob } from '#platform';

/** Queues the deliveries of a campaign again that failed temporarily. */
@Injectable()
export class RetryFailedDeliveries extends ResumableJob<{ campaignId: string }> {
  override readonly name = 'retry-failed-deliveries';
  override readonly queue = 'campaigns';
  override readonly on = CampaignRetried;

  constructor(private readonly deliveries: CampaignRetryDeliveriesService) {
    super();
  }

  override async run(
    scope: ProjectScope,
    { campaignId }: { campaignId: string },
    { signal }: JobContext,
  ): Promise<JobResult> {
    await this.deliveries.putBack(scope, campaignId, signal);
    return doneUnlessAborted(signal);
  }
}
