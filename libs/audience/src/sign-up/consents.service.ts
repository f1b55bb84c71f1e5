import { Injectable } from '@nestjs/common';
import { DomainValidationError, type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import type { ConsentStatus } from '../consents/consent.js';
import type { ConsentProof } from '../consents/consent-proof.js';
import { ConsentWriter } from '../consents/consent-writer.repository.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import { grantFault } from '../topics/topic.js';
import { TopicRepository } from '../topics/topic.repository.js';
import { ConfirmationRepeats } from './confirmation-repeats.service.js';
import { ConsentExistsError } from './sign-up.errors.js';

/** A consent after it was granted. */
export interface GrantedConsent {
  readonly topicKey: string;
  readonly status: ConsentStatus;
  readonly requiresConfirmation: boolean;
  readonly grantedAt: Date | null;
  readonly confirmedAt: Date | null;
  readonly tokenExpiresAt: Date | null;
}

/** Grants, revokes and repeats one subscriber's consent to one topic for a client. */
@Injectable()
export class ConsentsService {
  constructor(
    private readonly subscribers: SubscriberRepository,
    private readonly suppressions: SuppressionsService,
    private readonly topics: TopicRepository,
    private readonly consents: ConsentWriter,
    private readonly repeats: ConfirmationRepeats,
  ) {}

  /** Throws NotFoundError, DomainValidationError, SuppressedError, ConsentExistsError. */
  grant(
    scope: ProjectScope,
    address: EmailAddress,
    topicKey: string,
    proof: ConsentProof,
  ): Promise<GrantedConsent> {
    return this.subscribers.whileLocked(scope, address.key, async (subscriberId) => {
      const topic = (await this.topics.named(scope, [topicKey])).get(topicKey);
      const fault = grantFault(topic);
      if (topic === undefined || fault !== null) throw new DomainValidationError({ topicKey: fault ?? '' });
      await this.suppressions.refuseSuppressed(scope, address.key);
      const order = { subscriberIds: [subscriberId], action: 'grant', topics: [topic] } as const;
      const [outcome] = await this.consents.change(scope, order, proof);
      const { isDone, consent } = outcome!;
      const { status, grantedAt, confirmedAt, tokenExpiresAt } = consent!;
      if (!isDone) throw new ConsentExistsError(status);
      const requiresConfirmation = status === 'PENDING_CONFIRMATION';
      return { topicKey, status, requiresConfirmation, grantedAt, confirmedAt, tokenExpiresAt };
    });
  }

  /** Revokes the consent, if there is one. Throws NotFoundError for an unknown subscriber or topic. */
  async revoke(
    scope: ProjectScope,
    address: EmailAddress,
    topicKey: string,
    proof: ConsentProof,
  ): Promise<void> {
    await this.subscribers.whileLocked(scope, address.key, async (subscriberId) => {
      const topicIds = [await this.#topicId(scope, topicKey)];
      const order = { subscriberIds: [subscriberId], action: 'revoke', topicIds } as const;
      await this.consents.change(scope, order, proof);
    });
  }

  /** Sends the confirmation mail again. Throws NotFoundError, InvalidStateError unless pending, SuppressedError, ResendTooSoonError. */
  async resend(
    scope: ProjectScope,
    address: EmailAddress,
    topicKey: string,
    proof: ConsentProof,
  ): Promise<void> {
    await this.subscribers.whileLocked(scope, address.key, async (subscriberId) => {
      const topicId = await this.#topicId(scope, topicKey);
      await this.repeats.refuseUnlessPending(scope, subscriberId, topicId);
      await this.suppressions.refuseSuppressed(scope, address.key);
      await this.repeats.send(scope, subscriberId, [topicId], proof);
    });
  }

  async #topicId(scope: ProjectScope, topicKey: string): Promise<string> {
    const topic = (await this.topics.named(scope, [topicKey])).get(topicKey);
    if (topic === undefined) throw new NotFoundError();
    return topic.id;
  }
}
