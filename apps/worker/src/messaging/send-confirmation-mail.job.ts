import { Injectable } from '@nestjs/common';
import { ConfirmationRequested } from '#audience';
import type { ProjectScope } from '#kernel';
import { OptInDeliveriesService } from '#messaging';
import { done, type JobResult, TransactionalJob } from '#platform';

/** Queues a confirmation mail. */
@Injectable()
export class SendConfirmationMail extends TransactionalJob<{ confirmationId: string }> {
  override readonly name = 'send-confirmation-mail';
  override readonly queue = 'mail';
  override readonly on = ConfirmationRequested;

  constructor(private readonly deliveries: OptInDeliveriesService) {
    super();
  }

  override async handle(
    scope: ProjectScope,
    { confirmationId }: { confirmationId: string },
  ): Promise<JobResult> {
    await this.deliveries.add(scope, confirmationId);
    return done;
  }
}
