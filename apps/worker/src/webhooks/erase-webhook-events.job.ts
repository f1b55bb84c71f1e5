import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { WebhookPersonalData } from '#webhooks';
import { type Erasure, ErasureJob } from '../audience/erasure.job.js';

/** Removes an erased person from webhook events, delivered or pending. */
@Injectable()
export class EraseWebhookEvents extends ErasureJob {
  override readonly name = 'erase-webhook-events';

  constructor(
    private readonly events: WebhookPersonalData,
    clock: Clock,
  ) {
    super(clock);
  }

  protected override erase(scope: ProjectScope, { subscriberId }: Erasure): Promise<void> {
    return this.events.erase(scope, subscriberId);
  }
}
