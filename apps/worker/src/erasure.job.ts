import { SubscriberErased } from '#audience';
import type { Clock, ProjectScope } from '#kernel';
import { done, type JobResult, snooze, TransactionalJob } from '#platform';

export type Erasure = ReturnType<typeof SubscriberErased>['payload'];

/** The time after which every transaction and post has ended that began before the erasure and may have read the person. */
const SETTLED_AFTER_MS = 2 * 60_000;

/** Removes an erased person from where others keep data about them: at once, and again a little later. */
export abstract class ErasureJob extends TransactionalJob<Erasure> {
  override readonly queue = 'erasures';
  override readonly on = SubscriberErased;

  constructor(private readonly clock: Clock) {
    super();
  }

  override async handle(scope: ProjectScope, person: Erasure): Promise<JobResult> {
    const settledAt = new Date(Date.parse(person.erasedAt) + SETTLED_AFTER_MS);
    const isSettled = this.clock.now() >= settledAt;
    await this.erase(scope, person);
    return isSettled ? done : snooze(settledAt);
  }

  protected abstract erase(scope: ProjectScope, person: Erasure): Promise<void>;
}
