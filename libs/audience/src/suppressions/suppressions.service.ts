import { Injectable } from '@nestjs/common';
import { Clock, type EmailAddress, type ProjectScope } from '#kernel';
import { Publisher } from '#platform';
import type { ConsentProof, SuppressionReason } from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SuppressedError } from './suppression.errors.js';
import type { SuppressionDetails } from './suppression.js';
import { SuppressionRepository } from './suppression.repository.js';

/** Adds addresses to the suppression list and removes them. */
@Injectable()
export class SuppressionsService {
  constructor(
    private readonly suppressions: SuppressionRepository,
    private readonly subscribers: SubscriberRepository,
    private readonly consents: ConsentRepository,
    private readonly publisher: Publisher,
    private readonly clock: Clock,
  ) {}

  /**
   * Suppresses an address, a subscriber's or not, and returns the standing suppression: the first reason and time win.
   * GLOBAL_UNSUBSCRIBE also revokes all consents, even if another reason stands. Its subscriber can undo no unsubscription of
   * before.
   */
  suppress(
    scope: ProjectScope,
    address: Pick<EmailAddress, 'value' | 'key'>,
    reason: SuppressionReason,
    by: ConsentProof,
  ): Promise<SuppressionDetails> {
    return this.subscribers.whileAddressLocked(scope, address.key, async (subscriberId) => {
      const now = this.clock.now();
      const { isNew, ...standing } = await this.suppressions.add(scope, address, reason, now);
      if (isNew)
        await this.publisher.publish(scope, { type: 'suppression.added', subscriberId, data: standing });
      if (subscriberId === null) return standing;
      await this.suppressions.closeUnsubscriptions(scope, subscriberId);
      if (reason === 'GLOBAL_UNSUBSCRIBE')
        await this.consents.change(scope, { subscriberIds: [subscriberId], action: 'revoke' }, by);
      await this.consents.refreshStatuses(scope, [subscriberId], now);
      return standing;
    });
  }

  /** Suppresses the address of a subscriber; null when there is no such subscriber. */
  async suppressSubscriber(
    scope: ProjectScope,
    subscriberId: string,
    reason: SuppressionReason,
    by: ConsentProof,
  ): Promise<SuppressionDetails | null> {
    const address = await this.subscribers.addressOf(scope, subscriberId);
    if (address === null) return null;
    return this.subscribers.whileAddressLocked(scope, address.key, (ownerId) =>
      // A subscriber erased meanwhile is not suppressed by address again.
      ownerId === subscriberId ? this.suppress(scope, address, reason, by) : Promise.resolve(null),
    );
  }

  /** Removes the address from the list, if it is there. Consents do not change. */
  lift(scope: ProjectScope, emailKey: string): Promise<void> {
    return this.subscribers.whileAddressLocked(scope, emailKey, async (subscriberId) => {
      const wasThere = await this.suppressions.remove(scope, emailKey);
      if (!wasThere) return;
      await this.publisher.publish(scope, {
        type: 'suppression.removed',
        subscriberId,
        data: { email: emailKey },
      });
      if (subscriberId !== null) await this.consents.refreshStatuses(scope, [subscriberId], this.clock.now());
    });
  }

  /** The same, if it is the suppression that an unsubscription added at this moment. */
  async liftUnsubscribed(scope: ProjectScope, emailKey: string, suppressedAt: Date): Promise<void> {
    const standing = await this.suppressions.find(scope, emailKey);
    const isSame = standing?.suppressedAt.getTime() === suppressedAt.getTime();
    if (isSame && standing.reason === 'GLOBAL_UNSUBSCRIBE') await this.lift(scope, emailKey);
  }

  async isSuppressed(scope: ProjectScope, emailKey: string): Promise<boolean> {
    return (await this.suppressions.find(scope, emailKey)) !== null;
  }

  /** Throws SuppressedError. */
  async refuseSuppressed(scope: ProjectScope, emailKey: string): Promise<void> {
    if (await this.isSuppressed(scope, emailKey)) throw new SuppressedError();
  }
}
