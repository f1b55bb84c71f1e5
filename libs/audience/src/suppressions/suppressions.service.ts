import { Inject, Injectable } from '@nestjs/common';
import { Clock, type EmailAddress, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { AudienceAnnouncements } from '../announcements/audience-announcements.service.js';
import type { ConsentProof } from '../consents/consent-proof.js';
import { ConsentChanges } from '../consents/consent-changes.service.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import type { Suppression, SuppressionReason } from './suppression.js';
import { SuppressionRepository } from './suppression.repository.js';

/** Keeps addresses from getting mail, and lets them again. */
@Injectable()
export class SuppressionsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SuppressionRepository) private readonly suppressions: SuppressionRepository,
    @Inject(SubscriberRepository) private readonly subscribers: SubscriberRepository,
    @Inject(ConsentChanges) private readonly changes: ConsentChanges,
    @Inject(AudienceAnnouncements) private readonly announcements: AudienceAnnouncements,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Suppresses an address, a subscriber's or not, and returns what stands: the first reason and time win.
   * GLOBAL_UNSUBSCRIBE also takes back all consents, whatever reason stands.
   */
  suppress(
    scope: ProjectScope,
    address: Pick<EmailAddress, 'value' | 'key'>,
    reason: SuppressionReason,
    by: ConsentProof,
  ): Promise<Suppression> {
    return this.subscribers.whileAddressLocked(scope, address.key, async (subscriberId) => {
      const now = this.clock.now();
      const { isNew, ...standing } = await this.suppressions.add(scope, address, reason, now);
      if (isNew) await this.announcements.suppressionAdded(scope, standing, subscriberId);
      if (subscriberId === null) return standing;
      if (reason === 'GLOBAL_UNSUBSCRIBE') {
        await this.changes.apply(scope, subscriberId, { at: now, proof: by }, (consents) =>
          consents.all.filter((consent) => consent.revoke(now)),
        );
      }
      await this.subscribers.refreshStatus(scope, subscriberId, now);
      return standing;
    });
  }

  /** Suppresses the address of a subscriber; null when there is no such subscriber, or no longer. */
  suppressSubscriber(
    scope: ProjectScope,
    subscriberId: string,
    reason: SuppressionReason,
    by: ConsentProof,
  ): Promise<Suppression | null> {
    return this.database.transaction(scope, async () => {
      const address = await this.subscribers.addressOf(scope, subscriberId);
      if (address === null) return null;
      // Who was erased between these lines is not put on the list again.
      await this.subscribers.lockAddress(scope, address.key);
      if (!(await this.subscribers.lock(scope, subscriberId))) return null;
      return this.suppress(scope, address, reason, by);
    });
  }

  /** Takes the address from the list, if it is there. Consents stay as they are. */
  lift(scope: ProjectScope, emailKey: string): Promise<void> {
    return this.subscribers.whileAddressLocked(scope, emailKey, async (subscriberId) => {
      const wasThere = await this.suppressions.remove(scope, emailKey);
      if (!wasThere) return;
      await this.announcements.suppressionRemoved(scope, emailKey, subscriberId);
      if (subscriberId !== null) {
        await this.subscribers.refreshStatus(scope, subscriberId, this.clock.now());
      }
    });
  }

  async isSuppressed(scope: ProjectScope, emailKey: string): Promise<boolean> {
    return (await this.suppressions.find(scope, emailKey)) !== null;
  }
}
