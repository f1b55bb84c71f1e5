import { Inject, Injectable } from '@nestjs/common';
import { SubscriberErased } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { done, type JobResult, snooze, TransactionalJob } from '#platform';
import { WebhookPersonalData } from '#webhooks';

interface Erasure {
  readonly subscriberId: string;
  readonly erasedAt: string;
}

/** By then no post is under way any more that began before the erasure, and whose answer may repeat what it told. */
const SETTLED_AFTER_MS = 2 * 60_000;

/** Takes an erased person out of what was, or is still to be, told to endpoints: at once, and once more a little later. */
@Injectable()
export class EraseWebhookEvents extends TransactionalJob<Erasure> {
  override readonly name = 'erase-webhook-events';
  override readonly queue = 'erasures';
  override readonly on = SubscriberErased;

  constructor(
    @Inject(WebhookPersonalData) private readonly events: WebhookPersonalData,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async handle(scope: ProjectScope, { subscriberId, erasedAt }: Erasure): Promise<JobResult> {
    const settledAt = new Date(Date.parse(erasedAt) + SETTLED_AFTER_MS);
    const isSettled = this.clock.now() >= settledAt;
    await this.events.erase(scope, subscriberId);
    return isSettled ? done : snooze(settledAt);
  }
}
