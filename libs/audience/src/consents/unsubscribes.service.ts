import { Inject, Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import { ConsentChanges } from './consent-changes.service.js';
import { consentProof, type ConsentProof } from './consent-proof.js';

/** Who leaves, and through which mail. */
export interface LeavingPerson {
  readonly actor: 'SUBSCRIBER_PAGE' | 'ONE_CLICK';
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
  readonly deliveryId: string;
  /** The Message-ID of that mail, where it is known. */
  readonly messageId?: string | null;
}

/** What the reader of a mail does with its unsubscribe link. */
@Injectable()
export class UnsubscribesService {
  constructor(
    @Inject(SubscriberRepository) private readonly subscribers: SubscriberRepository,
    @Inject(SuppressionsService) private readonly suppressions: SuppressionsService,
    @Inject(ConsentChanges) private readonly changes: ConsentChanges,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Revokes the consents to these topics; returns how many changed. */
  revokeTopics(
    scope: ProjectScope,
    subscriberId: string,
    topicIds: readonly string[],
    by: LeavingPerson,
  ): Promise<number> {
    return this.subscribers.whileHeld(scope, subscriberId, async () => {
      const occasion = { at: this.clock.now(), proof: proofOf(by) };
      const revoked = await this.changes.apply(scope, subscriberId, occasion, (consents) =>
        consents.all
          .filter(({ topicId }) => topicIds.includes(topicId))
          .filter((consent) => consent.revoke(occasion.at)),
      );
      return revoked.length;
    });
  }

  /** Revokes all consents and suppresses the address. Nothing is left to do for a subscriber who was erased. */
  async everything(scope: ProjectScope, subscriberId: string, by: LeavingPerson): Promise<void> {
    await this.suppressions.suppressSubscriber(scope, subscriberId, 'GLOBAL_UNSUBSCRIBE', proofOf(by));
  }
}

function proofOf({ actor, deliveryId, ...details }: LeavingPerson): ConsentProof {
  return consentProof(actor, deliveryId, details);
}
