import { Injectable } from '@nestjs/common';
import { ComplaintReported } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { DeliveryFeedback } from '#messaging';
import { done, type JobResult, TransactionalJob } from '#platform';

/** Records a complaint: in the statistics and for the address. */
@Injectable()
export class RecordComplaint extends TransactionalJob<{ deliveryId: string }> {
  override readonly name = 'record-complaint';
  override readonly queue = 'bounces';
  override readonly on = ComplaintReported;

  constructor(private readonly feedback: DeliveryFeedback) {
    super();
  }

  override async handle(scope: ProjectScope, { deliveryId }: { deliveryId: string }): Promise<JobResult> {
    await this.feedback.complained(scope, deliveryId);
    return done;
  }
}
