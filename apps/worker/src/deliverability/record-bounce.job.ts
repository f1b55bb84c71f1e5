import { Inject, Injectable } from '@nestjs/common';
import { type BounceClass, BounceReported } from '#deliverability';
import { Clock, type ProjectScope } from '#kernel';
import { DeliveryFeedback, ReportedDistrust } from '#messaging';
import { done, type JobResult, snooze, TransactionalJob } from '#platform';

interface ReportedBounce {
  readonly deliveryId: string;
  readonly bounceClass: BounceClass;
  readonly isDistrust?: true;
}

/** A report may arrive before its mail is recorded as accepted, or be about the first of two attempts. */
const LOOK_AGAIN_MS = 5_000;

/** Records a bounce: in the delivery, in the statistics, for the address and for its destination. */
@Injectable()
export class RecordBounce extends TransactionalJob<ReportedBounce> {
  override readonly name = 'record-bounce';
  override readonly queue = 'bounces';
  override readonly on = BounceReported;

  constructor(
    @Inject(DeliveryFeedback) private readonly feedback: DeliveryFeedback,
    @Inject(ReportedDistrust) private readonly distrust: ReportedDistrust,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async handle(
    scope: ProjectScope,
    { deliveryId, bounceClass, isDistrust }: ReportedBounce,
  ): Promise<JobResult> {
    const outcome = await this.feedback.bounced(scope, deliveryId, bounceClass);
    if (outcome === 'taken' && isDistrust === true) await this.distrust.reported(scope, deliveryId);
    return outcome === 'too-early' ? snooze(new Date(this.clock.now().getTime() + LOOK_AGAIN_MS)) : done;
  }
}
