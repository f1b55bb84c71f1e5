import { Injectable } from '@nestjs/common';
import { Clock, type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import type { ConsentProof } from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import { ErasureRepository } from './erasure.repository.js';

/** Erases people (GDPR Art. 17). */
@Injectable()
export class ErasureService {
  constructor(
    private readonly subscribers: SubscriberRepository,
    private readonly suppressions: SuppressionRepository,
    private readonly consents: ConsentRepository,
    private readonly erasures: ErasureRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Erases the subscriber with this address: here at once, in other contexts within seconds (`SubscriberErased`). A
   * suppressed address stays suppressed, and one that left a topic stays off it, by its keyed digest. Throws NotFoundError.
   */
  erase(scope: ProjectScope, { key }: Pick<EmailAddress, 'key'>, by: ConsentProof): Promise<void> {
    return this.subscribers.whileAddressLocked(scope, key, async (subscriberId) => {
      if (subscriberId === null) throw new NotFoundError();
      const at = this.clock.now();
      const consents = await this.consents.ofSubscriber(scope, subscriberId);
      await this.consents.change(scope, { subscriberIds: [subscriberId], action: 'revoke' }, by);
      await this.suppressions.forgetAddress(scope, key, at);
      await this.erasures.remove(scope, { subscriberId, emailKey: key, consents }, at);
    });
  }
}
