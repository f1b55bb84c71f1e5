import { Inject, Injectable } from '@nestjs/common';
import { Clock, type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { AudienceAnnouncements } from '../announcements/audience-announcements.service.js';
import { ConsentChanges } from '../consents/consent-changes.service.js';
import type { ConsentProof } from '../consents/consent-proof.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import { ErasureRepository } from './erasure.repository.js';

/** Forgets people (GDPR Art. 17). */
@Injectable()
export class ErasureService {
  constructor(
    @Inject(SubscriberRepository) private readonly subscribers: SubscriberRepository,
    @Inject(SuppressionRepository) private readonly suppressions: SuppressionRepository,
    @Inject(ConsentChanges) private readonly changes: ConsentChanges,
    @Inject(ErasureRepository) private readonly erasures: ErasureRepository,
    @Inject(AudienceAnnouncements) private readonly announcements: AudienceAnnouncements,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Erases the subscriber with this address: at once here, within seconds where `SubscriberErased` is heard.
   * An address that is suppressed stays so, by its keyed digest alone. Throws NotFoundError.
   */
  erase(scope: ProjectScope, { key }: Pick<EmailAddress, 'key'>, by: ConsentProof): Promise<void> {
    return this.subscribers.whileAddressLocked(scope, key, async (subscriberId) => {
      if (subscriberId === null) throw new NotFoundError();
      const at = this.clock.now();
      await this.changes.apply(scope, subscriberId, { at, proof: by }, (consents) =>
        consents.all.filter((consent) => consent.revoke(at)),
      );
      await this.suppressions.forgetAddress(scope, key, at);
      await this.announcements.subscriberDeleted(scope, subscriberId);
      await this.erasures.remove(scope, { subscriberId, emailKey: key }, at);
    });
  }
}
