import { Injectable } from '@nestjs/common';
import { finishErasure } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { MailPersonalDataService } from '#messaging';
import { done, Job, type JobResult, snooze } from '#platform';
import { WebhookLogService } from '#webhooks';

/** The time after which every transaction and post has ended that began before the erasure and may have read the person. */
const SETTLED_AFTER_MS = 2 * 60_000;

/**
 * Removes an erased person from where other contexts keep data about them: deliveries, their events, the test inbox, webhook
 * events. At once, and again a little later.
 */
@Injectable()
export class ErasureJob {
  constructor(
    private readonly mail: MailPersonalDataService,
    private readonly webhooks: WebhookLogService,
    private readonly clock: Clock,
  ) {}

  @Job(finishErasure)
  async erase(scope: ProjectScope, person: Parameters<typeof finishErasure>[0]): Promise<JobResult> {
    const settledAt = new Date(Date.parse(person.erasedAt) + SETTLED_AFTER_MS);
    const isSettled = this.clock.now() >= settledAt;
    const messageIds = await this.mail.erase(scope, person);
    await this.webhooks.erase(scope, { ...person, messageIds });
    return isSettled ? done : snooze(settledAt);
  }
}
