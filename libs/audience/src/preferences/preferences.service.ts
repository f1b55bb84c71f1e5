import { Inject, Injectable } from '@nestjs/common';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { ConsentChanges } from '../consents/consent-changes.service.js';
import type { ConsentProof } from '../consents/consent-proof.js';
import { OptIns } from '../consents/opt-ins.service.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import { type PauseDays, pauseEnd } from './preferences.js';

/**
 * What the reader of a mail decides by its link to the preferences. For a subscriber who was erased nothing
 * happens.
 */
@Injectable()
export class PreferencesService {
  constructor(
    @Inject(SubscriberRepository) private readonly subscribers: SubscriberRepository,
    @Inject(SuppressionsService) private readonly suppressions: SuppressionsService,
    @Inject(OptIns) private readonly optIns: OptIns,
    @Inject(ConsentChanges) private readonly changes: ConsentChanges,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Gives consent to an active topic, confirmed by the link itself; not to a suppressed address, which only the
   * operator lifts. Throws NotFoundError without such a topic, and for a private one that does not wait for it.
   */
  async join(
    scope: ProjectScope,
    subscriberId: string,
    topicKey: string,
    proof: ConsentProof,
  ): Promise<void> {
    await this.subscribers.whileHeld(scope, subscriberId, async () => {
      const { topics, faults } = await this.optIns.choose(scope, [topicKey]);
      const [topic] = topics;
      if (topic === undefined || faults[0] != null) throw new NotFoundError();
      const address = await this.subscribers.addressOf(scope, subscriberId);
      if (address === null || (await this.suppressions.isSuppressed(scope, address.key))) return;
      const at = this.clock.now();
      await this.changes.apply(scope, subscriberId, { at, proof }, (consents) => {
        const consent = consents.to(topic.id);
        if (topic.visibility === 'PRIVATE' && !consent.isGranted) throw new NotFoundError();
        return consent.join(topic.doubleOptInEnabled, at) ? [consent] : [];
      });
    });
  }

  /** Takes the consent to a topic back. Throws NotFoundError without such a topic. */
  async leave(
    scope: ProjectScope,
    subscriberId: string,
    topicKey: string,
    proof: ConsentProof,
  ): Promise<void> {
    await this.subscribers.whileHeld(scope, subscriberId, async () => {
      const [topic] = (await this.optIns.choose(scope, [topicKey])).topics;
      if (topic === undefined) throw new NotFoundError();
      const at = this.clock.now();
      await this.changes.apply(scope, subscriberId, { at, proof }, (consents) =>
        [consents.to(topic.id)].filter((consent) => consent.revoke(at)),
      );
    });
  }

  /** Takes all consents back and suppresses the address. */
  async leaveEverything(scope: ProjectScope, subscriberId: string, proof: ConsentProof): Promise<void> {
    await this.suppressions.suppressSubscriber(scope, subscriberId, 'GLOBAL_UNSUBSCRIBE', proof);
  }

  /** Holds all mail for so many days from now; consents stay. */
  pause(scope: ProjectScope, subscriberId: string, days: PauseDays): Promise<void> {
    return this.subscribers.pause(scope, subscriberId, pauseEnd(days, this.clock.now()));
  }

  /** Ends a pause. */
  resume(scope: ProjectScope, subscriberId: string): Promise<void> {
    return this.subscribers.pause(scope, subscriberId, null);
  }
}
