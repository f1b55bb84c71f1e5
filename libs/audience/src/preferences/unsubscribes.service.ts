import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { consentProof, type ConsentProof } from '../consents/consent-proof.js';
import { ConsentWriter } from '../consents/consent-writer.repository.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';

/** The person who unsubscribes, and the mail with the link. */
export interface UnsubscribingPerson {
  readonly actor: 'SUBSCRIBER_PAGE' | 'ONE_CLICK';
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
  readonly deliveryId: string;
  /** The Message-ID of that mail, where it is known. */
  readonly messageId?: string | null;
}

/** Unsubscribes the reader of a mail. */
@Injectable()
export class UnsubscribesService {
  constructor(
    @Inject(SubscriberRepository) private readonly subscribers: SubscriberRepository,
    @Inject(SuppressionsService) private readonly suppressions: SuppressionsService,
    @Inject(ConsentWriter) private readonly consents: ConsentWriter,
  ) {}

  /** Revokes the consents to these topics; returns how many changed. */
  revokeTopics(
    scope: ProjectScope,
    subscriberId: string,
    topicIds: readonly string[],
    by: UnsubscribingPerson,
  ): Promise<number> {
    return this.subscribers.whileHeld(scope, subscriberId, async () => {
      const order = { subscriberIds: [subscriberId], action: 'revoke', topicIds } as const;
      const outcomes = await this.consents.change(scope, order, proofOf(by));
      return outcomes.filter(({ isDone }) => isDone).length;
    });
  }

  /** Revokes all consents and suppresses the address. Does nothing for an erased subscriber. */
  async everything(scope: ProjectScope, subscriberId: string, by: UnsubscribingPerson): Promise<void> {
    await this.suppressions.suppressSubscriber(scope, subscriberId, 'GLOBAL_UNSUBSCRIBE', proofOf(by));
  }
}

function proofOf({ actor, deliveryId, ...details }: UnsubscribingPerson): ConsentProof {
  return consentProof(actor, deliveryId, details);
}
