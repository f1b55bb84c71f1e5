import { Injectable } from '@nestjs/common';
import { UnsubscribeMailed } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { MailPagesService } from '#messaging';
import { done, type JobResult, TransactionalJob } from '#platform';

/** Unsubscribes a reader from the topics of a mail, after a mail to its unsubscribe address. */
@Injectable()
export class UnsubscribeByMail extends TransactionalJob<{ deliveryId: string }> {
  override readonly name = 'unsubscribe-by-mail';
  override readonly queue = 'bounces';
  override readonly on = UnsubscribeMailed;

  constructor(private readonly mails: MailPagesService) {
    super();
  }

  override async handle(scope: ProjectScope, { deliveryId }: { deliveryId: string }): Promise<JobResult> {
    // The client's address is a mail server's and says nothing about the person.
    const by = { how: 'ONE_CLICK', ipAddress: null, userAgent: null } as const;
    await this.mails.unsubscribe(scope, { id: deliveryId }, 'topics', by);
    return done;
  }
}
