import { Inject, Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { TopicRepository } from '../topics/topic.repository.js';
import type { ConsentStatus } from './consent.js';
import { ConsentChanges } from './consent-changes.service.js';
import type { ConsentProof } from './consent-proof.js';
import { OptIns } from './opt-ins.service.js';

/** A consent as it stands after it was granted. */
export interface GrantedConsent {
  readonly topicKey: string;
  readonly status: ConsentStatus;
  readonly requiresConfirmation: boolean;
  readonly grantedAt: Date | null;
  readonly confirmedAt: Date | null;
  readonly tokenExpiresAt: Date | null;
}

/** What a client does with one subscriber's consent to one topic. */
@Injectable()
export class ConsentsService {
  constructor(
    @Inject(SubscriberRepository) private readonly subscribers: SubscriberRepository,
    @Inject(TopicRepository) private readonly topics: TopicRepository,
    @Inject(OptIns) private readonly optIns: OptIns,
    @Inject(ConsentChanges) private readonly changes: ConsentChanges,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Throws NotFoundError, DomainValidationError, SuppressedError, ConsentExistsError. */
  grant(
    scope: ProjectScope,
    address: EmailAddress,
    topicKey: string,
    proof: ConsentProof,
  ): Promise<GrantedConsent> {
    return this.subscribers.whileLocked(scope, address.key, async (id) => {
      const { topics, faults } = await this.optIns.choose(scope, [topicKey]);
      if (faults[0] != null) throw new DomainValidationError({ topicKey: faults[0] });
      await this.optIns.refuseSuppressed(scope, address.key);
      const occasion = { at: this.clock.now(), proof };
      const [consent] = await this.optIns.grant(scope, id, topics, occasion);
      const { status, grantedAt, confirmedAt, tokenExpiresAt } = consent!.state!;
      const requiresConfirmation = status === 'PENDING_CONFIRMATION';
      return { topicKey, status, requiresConfirmation, grantedAt, confirmedAt, tokenExpiresAt };
    });
  }

  /** Takes the consent back; nothing happens when there is none. Throws NotFoundError for an unknown subscriber or topic. */
  async revoke(
    scope: ProjectScope,
    address: EmailAddress,
    topicKey: string,
    proof: ConsentProof,
  ): Promise<void> {
    await this.subscribers.whileLocked(scope, address.key, async (subscriberId) => {
      const topicId = await this.#topicId(scope, topicKey);
      const occasion = { at: this.clock.now(), proof };
      await this.changes.apply(scope, subscriberId, occasion, (consents) =>
        [consents.to(topicId)].filter((consent) => consent.revoke(occasion.at)),
      );
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
      const occasion = { at: this.clock.now(), proof };
      await this.optIns.askAgain(scope, subscriberId, occasion, async (consents) => {
        const consent = consents.to(topicId);
        if (consent.status === null) throw new NotFoundError();
        consent.resend(occasion.at);
        await this.optIns.refuseSuppressed(scope, address.key);
        return [consent];
      });
    });
  }

  async #topicId(scope: ProjectScope, topicKey: string): Promise<string> {
    const topic = (await this.topics.named(scope, [topicKey])).get(topicKey);
    if (topic === undefined) throw new NotFoundError();
    return topic.id;
  }
}
