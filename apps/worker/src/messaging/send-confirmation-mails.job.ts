import { Injectable } from '@nestjs/common';
import { ConfirmationsRequested } from '#audience';
import type { ProjectScope } from '#kernel';
import { OptInMailsService } from '#messaging';
import { done, type JobResult, TransactionalJob } from '#platform';

interface Requests {
  readonly confirmationIds: readonly string[];
}

/** Queues the confirmation mails of a list: all, or none and the list is retried. */
@Injectable()
export class SendConfirmationMails extends TransactionalJob<Requests> {
  override readonly name = 'send-confirmation-mails';
  override readonly queue = 'imports';
  override readonly on = ConfirmationsRequested;

  constructor(private readonly mails: OptInMailsService) {
    super();
  }

  override async handle(scope: ProjectScope, { confirmationIds }: Requests): Promise<JobResult> {
    for (const confirmationId of confirmationIds) await this.mails.queue(scope, confirmationId);
    return done;
  }
}
