import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { TrimWebhookEvents, WebhookLogService, WebhookSender } from '#webhooks';
import { type Erasure, ErasureJob } from './erasure.job.js';
import type { ContextWork } from './worker.js';

/** Removes an erased person from webhook events, delivered or pending. */
@Injectable()
class EraseWebhookEvents extends ErasureJob {
  override readonly name = 'erase-webhook-events';

  constructor(
    private readonly log: WebhookLogService,
    clock: Clock,
  ) {
    super(clock);
  }

  protected override erase(scope: ProjectScope, { subscriberId }: Erasure): Promise<void> {
    return this.log.erase(scope, subscriberId);
  }
}

export const webhooksWork: ContextWork = {
  jobs: [EraseWebhookEvents],
  events: [],
  tasks: [TrimWebhookEvents],
  parts: [WebhookSender],
};
