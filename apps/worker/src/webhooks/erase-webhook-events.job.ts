import { Inject, Injectable } from '@nestjs/common';
import { SubscriberErased } from '#audience';
import type { ProjectScope } from '#kernel';
import { done, type JobResult, TransactionalJob } from '#platform';
import { WebhookPersonalData } from '#webhooks';

/** Takes an erased person out of what was, or is still to be, told to endpoints. */
@Injectable()
export class EraseWebhookEvents extends TransactionalJob<{ readonly subscriberId: string }> {
  override readonly name = 'erase-webhook-events';
  override readonly queue = 'erasures';
  override readonly on = SubscriberErased;

  constructor(@Inject(WebhookPersonalData) private readonly events: WebhookPersonalData) {
    super();
  }

  override async handle(scope: ProjectScope, { subscriberId }: { subscriberId: string }): Promise<JobResult> {
    await this.events.erase(scope, subscriberId);
    return done;
  }
}
