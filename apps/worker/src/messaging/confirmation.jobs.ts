import { Injectable } from '@nestjs/common';
import { ConfirmationRequested, ConfirmationsRequested } from '#audience';
import type { ProjectScope } from '#kernel';
import { OptInMailsService } from '#messaging';
import { done, type JobResult, TransactionalJob } from '#platform';

type Request = ReturnType<typeof ConfirmationRequested>['payload'];
type Requests = ReturnType<typeof ConfirmationsRequested>['payload'];

/** Queues a confirmation mail. */
@Injectable()
export class SendConfirmationMail extends TransactionalJob<Request> {
  override readonly name = 'send-confirmation-mail';
  override readonly queue = 'mail';
  override readonly on = ConfirmationRequested;

  constructor(private readonly mails: OptInMailsService) {
    super();
  }

  override async handle(scope: ProjectScope, { confirmationId }: Request): Promise<JobResult> {
    await this.mails.queue(scope, confirmationId);
    return done;
  }
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
