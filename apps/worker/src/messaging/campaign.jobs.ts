import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import {
  CampaignClosingService,
  CampaignExpansionService,
  expandCampaign,
  retryFailedDeliveries,
  closeCampaign,
  FailedDeliveriesService,
} from '#messaging';
import {
  cancel,
  done,
  doneUnlessAborted,
  type JobContext,
  type JobResult,
  ResumableJob,
  snooze,
} from '#platform';

interface CampaignPayload {
  readonly campaignId: string;
}

/** Queues a delivery for each recipient of a campaign that is sent. */
@Injectable()
export class ExpandCampaign {
  constructor(private readonly expansion: CampaignExpansionService) {}

  @ResumableJob(expandCampaign)
  async run(scope: ProjectScope, { campaignId }: CampaignPayload, context: JobContext): Promise<JobResult> {
    const failure = await this.expansion.expandOrFail(scope, campaignId, context);
    return failure === null ? doneUnlessAborted(context.signal) : cancel(failure);
  }
}

const CLOSE_AGAIN_MS = 1_000;

/** Ends the open deliveries of a campaign that was cancelled or failed. */
@Injectable()
export class CloseCampaign {
  constructor(
    private readonly closing: CampaignClosingService,
    private readonly clock: Clock,
  ) {}

  @ResumableJob(closeCampaign)
  async run(
    scope: ProjectScope,
    { campaignId }: CampaignPayload,
    { signal }: JobContext,
  ): Promise<JobResult> {
    if ((await this.closing.close(scope, campaignId, signal)) === 'closed') return done;
    return snooze(new Date(this.clock.now().getTime() + CLOSE_AGAIN_MS));
  }
}

/** Queues the deliveries of a campaign again that failed temporarily. */
@Injectable()
export class RetryFailedDeliveries {
  constructor(private readonly deliveries: FailedDeliveriesService) {}

  @ResumableJob(retryFailedDeliveries)
  async run(
    scope: ProjectScope,
    { campaignId }: CampaignPayload,
    { signal }: JobContext,
  ): Promise<JobResult> {
    await this.deliveries.putBack(scope, campaignId, signal);
    return doneUnlessAborted(signal);
  }
}
