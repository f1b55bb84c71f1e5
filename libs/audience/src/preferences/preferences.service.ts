import { Injectable } from '@nestjs/common';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import type { ConsentProof } from '../consents/consent.js';
import { ConsentRepository, type SubscriberOutcome } from '../consents/consent.repository.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import { grantFault } from '../topics/topic.js';
import { TopicRepository } from '../topics/topic.repository.js';
import { type PauseDays, pauseEnd } from './preferences.js';

/** Changes preferences for the reader of a mail, by the link in it. Does nothing for an erased subscriber. */
@Injectable()
export class PreferencesService {
  constructor(
    private readonly subscribers: SubscriberRepository,
    private readonly suppressions: SuppressionsService,
    private readonly topics: TopicRepository,
    private readonly consents: ConsentRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Grants consent to an active topic, confirmed by the link itself. Does nothing for a suppressed address. Throws
   * NotFoundError for an unknown topic, and for a private one without a pending consent.
   */
  async join(
    scope: ProjectScope,
    subscriberId: string,
    topicKey: string,
    proof: ConsentProof,
  ): Promise<void> {
    await this.subscribers.whileHeld(scope, subscriberId, async () => {
      const topic = (await this.topics.named(scope, [topicKey])).get(topicKey);
      if (topic === undefined || grantFault(topic) !== null) throw new NotFoundError();
      const address = await this.subscribers.addressOf(scope, subscriberId);
      if (address === null || (await this.suppressions.isSuppressed(scope, address.key))) return;
      const order = { subscriberIds: [subscriberId], action: 'join', topics: [topic] } as const;
      const [outcome] = await this.consents.change(scope, order, proof);
      // What was just written goes with the transaction.
      if (topic.visibility === 'PRIVATE' && !wasGranted(outcome)) throw new NotFoundError();
    });
  }

  /** Pauses all mail for so many days from now; consents stay. */
  pause(scope: ProjectScope, subscriberId: string, days: PauseDays): Promise<void> {
    return this.subscribers.pause(scope, subscriberId, pauseEnd(days, this.clock.now()));
  }

  /** Ends a pause. */
  resume(scope: ProjectScope, subscriberId: string): Promise<void> {
    return this.subscribers.pause(scope, subscriberId, null);
  }
}

function wasGranted(outcome: SubscriberOutcome | undefined): boolean {
  if (outcome === undefined) return false;
  return outcome.hasExpired || outcome.from === 'SUBSCRIBED' || outcome.from === 'PENDING_CONFIRMATION';
}
