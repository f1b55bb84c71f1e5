import { Injectable } from '@nestjs/common';
import { BouncesReported, type ReportedBounce } from '#deliverability';
import { Clock, type ProjectScope } from '#kernel';
import { DeliveryFeedback, ReportedDistrust } from '#messaging';
import { Database, done, type JobResult, publish, snooze, TransactionalJob } from '#platform';

interface Reported {
  readonly bounces: readonly ReportedBounce[];
}

/** A report may arrive before its mail is recorded as accepted, or be about the first of two attempts. */
const LOOK_AGAIN_MS = 5_000;

/** Records bounces: in the deliveries, in the statistics, for the addresses and for their destinations. */
@Injectable()
export class RecordBounces extends TransactionalJob<Reported> {
  override readonly name = 'record-bounces';
  override readonly queue = 'bounces';
  override readonly on = BouncesReported;

  constructor(
    private readonly database: Database,
    private readonly feedback: DeliveryFeedback,
    private readonly distrust: ReportedDistrust,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async handle(scope: ProjectScope, { bounces }: Reported): Promise<JobResult> {
    const outcome = await this.feedback.allBounced(scope, bounces);
    const [taken, early] = [new Set(outcome.taken), new Set(outcome.early)];
    for (const { deliveryId, isDistrust } of bounces)
      if (isDistrust === true && taken.has(deliveryId)) await this.distrust.reported(scope, deliveryId);
    if (early.size === 0) return done;
    if (early.size === bounces.length) return snooze(new Date(this.clock.now().getTime() + LOOK_AGAIN_MS));
    // The others are done with; these are a job of their own.
    const left = bounces.filter(({ deliveryId }) => early.has(deliveryId));
    await publish(this.database, scope, BouncesReported({ bounces: left }));
    return done;
  }
}
