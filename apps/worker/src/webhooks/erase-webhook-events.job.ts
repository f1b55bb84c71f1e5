import { Inject, Injectable } from '@nestjs/common';
import { SubscriberErased } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { done, type JobResult, snooze, TransactionalJob } from '#platform';
import { WebhookPersonalData } from '#webhooks';

interface Erasure {
  readonly subscriberId: string;
  readonly erasedAt: string;
}

/** By then every post has ended that began before the erasure, and whose answer may repeat personal data. */
const SETTLED_AFTER_MS = 2 * 60_000;

/** Removes an erased person from webhook events, delivered or pending: at once, and again a little later. */
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
