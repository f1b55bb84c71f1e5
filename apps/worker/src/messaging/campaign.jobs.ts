import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import {
  CampaignClosingService,
  CampaignExpansionService,
  CampaignQueued,
  CampaignRetried,
  CampaignStopped,
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
export class ExpandCampaign extends ResumableJob<CampaignPayload> {
  override readonly name = 'expand-campaign';
  override readonly queue = 'campaigns';
  override readonly on = CampaignQueued;

  constructor(private readonly expansion: CampaignExpansionService) {
    super();
  }

  override async run(
    scope: ProjectScope,
    { campaignId }: CampaignPayload,
    context: JobContext,
  ): Promise<JobResult> {
    const failure = await this.expansion.expandOrFail(scope, campaignId, context);
    return failure === null ? doneUnlessAborted(context.signal) : cancel(failure);
  }
}

const CLOSE_AGAIN_MS = 1_000;

/** Ends the open deliveries of a campaign that was cancelled or failed. */
@Injectable()
export class CloseCampaign extends ResumableJob<CampaignPayload> {
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
    { campaignId }: CampaignPayload,
    { signal }: JobContext,
  ): Promise<JobResult> {
    if ((await this.closing.close(scope, campaignId, signal)) === 'closed') return done;
    return snooze(new Date(this.clock.now().getTime() + CLOSE_AGAIN_MS));
  }
}

/** Queues the deliveries of a campaign again that failed temporarily. */
@Injectable()
export class RetryFailedDeliveries extends ResumableJob<CampaignPayload> {
  override readonly name = 'retry-failed-deliveries';
  override readonly queue = 'campaigns';
  override readonly on = CampaignRetried;

  constructor(private readonly deliveries: FailedDeliveriesService) {
    super();
  }

  override async run(
    scope: ProjectScope,
    { campaignId }: CampaignPayload,
    { signal }: JobContext,
  ): Promise<JobResult> {
    await this.deliveries.putBack(scope, campaignId, signal);
    return doneUnlessAborted(signal);
  }
}
