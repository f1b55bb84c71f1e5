import { Injectable } from '@nestjs/common';
import { ConfirmationRequested } from '#audience';
import type { ProjectScope } from '#kernel';
import { OptInMailsService } from '#messaging';
import { done, type JobResult, TransactionalJob } from '#platform';

/** Queues a confirmation mail. */
@Injectable()
export class SendConfirmationMail extends TransactionalJob<{ confirmationId: string }> {
  override readonly name = 'send-confirmation-mail';
  override readonly queue = 'mail';
  override readonly on = ConfirmationRequested;

  constructor(private readonly mails: OptInMailsService) {
    super();
  }

  override async handle(
    scope: ProjectScope,
    { confirmationId }: { confirmationId: string },
  ): Promise<JobResult> {
    await this.mails.queue(scope, confirmationId);
    return done;
  }
}
