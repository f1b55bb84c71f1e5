import { Inject, Injectable } from '@nestjs/common';
import { SubscriberErased } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { MailErasureService } from '#messaging';
import { done, type JobResult, snooze, TransactionalJob } from '#platform';

interface Erasure {
  readonly subscriberId: string;
  readonly addressDigest: string;
  readonly erasedAt: string;
}

/** By then every transaction has ended that began before the erasure and may have read the person. */
const SETTLED_AFTER_MS = 2 * 60_000;

/** Removes an erased person from deliveries, their events and the test inbox: at once, and again a little later. */
@Injectable()
export class EraseMail extends TransactionalJob<Erasure> {
  override readonly name = 'erase-mail';
  override readonly queue = 'erasures';
  override readonly on = SubscriberErased;

  constructor(
    @Inject(MailErasureService) private readonly erasure: MailErasureService,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async handle(scope: ProjectScope, person: Erasure): Promise<JobResult> {
    const settledAt = new Date(Date.parse(person.erasedAt) + SETTLED_AFTER_MS);
    const isSettled = this.clock.now() >= settledAt;
    await this.erasure.erase(scope, person);
    return isSettled ? done : snooze(settledAt);
  }
}
