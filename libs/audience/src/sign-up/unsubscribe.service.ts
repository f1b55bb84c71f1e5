import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import type { ConsentProof } from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { type Unsubscription, UnsubscriptionRepository } from '../consents/unsubscription.repository.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import { TopicRepository } from '../topics/topic.repository.js';

/**
 * Unsubscribes the reader of a mail by a link, and undoes it; does nothing for an erased subscriber. Each unsubscription returns
 * the id by which it, or the latest by this link if nothing was left to take, can be undone; null when there is none.
 */
@Injectable()
export class UnsubscribeService {
  constructor(
    private readonly subscribers: SubscriberRepository,
    private readonly suppressions: SuppressionsService,
    private readonly topics: TopicRepository,
    private readonly consents: ConsentRepository,
    private readonly unsubscriptions: UnsubscriptionRepository,
  ) {}

  /** Revokes the consent to a topic. Throws NotFoundError for an unknown topic. */
  async leave(
    scope: ProjectScope,
    subscriberId: string,
    topicKey: string,
    proof: ConsentProof,
  ): Promise<string | null> {
    const topic = await this.topics.existing(scope, topicKey);
    return this.leaveTopics(scope, subscriberId, [topic.id], proof);
  }

  /** Revokes the consents to these topics. */
  leaveTopics(
    scope: ProjectScope,
    subscriberId: string,
    topicIds: readonly string[],
    proof: ConsentProof,
  ): Promise<string | null> {
    return this.subscribers.whileLockedById(scope, subscriberId, async () => {
      const taken = await this.#revoke(scope, subscriberId, topicIds, proof);
      return this.#undoable(scope, { ...taken, subscriberId, suppressedAt: null }, proof);
    });
  }

  /** Revokes all consents and suppresses the address. */
  leaveEverything(scope: ProjectScope, subscriberId: string, proof: ConsentProof): Promise<string | null> {
    return this.subscribers.whileOwned(scope, subscriberId, async (address) => {
      const taken = await this.#revoke(scope, subscriberId, undefined, proof);
      const wasSuppressed = await this.suppressions.isSuppressed(scope, address.key);
      const added = wasSuppressed
        ? null
        : await this.suppressions.suppress(scope, address, 'GLOBAL_UNSUBSCRIBE', proof);
      const suppressedAt = added?.suppressedAt ?? null;
      return this.#undoable(scope, { ...taken, subscriberId, suppressedAt }, proof);
    });
  }

  /** The id by which the latest unsubscription by a link can be undone, or null. */
  undoOf(scope: ProjectScope, subscriberId: string, linkId: string): Promise<string | null> {
    return this.unsubscriptions.latest(scope, subscriberId, linkId);
  }

  /**
   * Undoes an unsubscription by the same link, once: brings back what it took, as it was, unless it changed since. Returns the
   * ids of the topics that mail may be sent about again; null when there is nothing to undo, or not any more.
   */
  undo(
    scope: ProjectScope,
    subscriberId: string,
    unsubscriptionId: string,
    proof: ConsentProof,
  ): Promise<readonly string[] | null> {
    return this.subscribers.whileOwned(scope, subscriberId, async (address) => {
      const linkId = linkOf(proof, subscriberId);
      const taken = await this.unsubscriptions.take(scope, unsubscriptionId, subscriberId, linkId);
      if (taken === null) return null;
      const { consents: before, revokedAt, suppressedAt } = taken;
      if (suppressedAt !== null) await this.suppressions.liftUnsubscribed(scope, address.key, suppressedAt);
      if (revokedAt === null) return [];
      const outcomes = await this.consents.restore(scope, subscriberId, { before, revokedAt }, proof);
      return outcomes.flatMap(({ topicId, consent }) => (consent?.status === 'SUBSCRIBED' ? [topicId] : []));
    });
  }

  /** Revokes consents, all where no topics are named; returns those that it took, as they were before. */
  async #revoke(
    scope: ProjectScope,
    subscriberId: string,
    topicIds: readonly string[] | undefined,
    proof: ConsentProof,
  ): Promise<Pick<Unsubscription, 'consents' | 'revokedAt'>> {
    const before = await this.consents.ofSubscriber(scope, subscriberId);
    const order = { subscriberIds: [subscriberId], action: 'revoke', ...(topicIds && { topicIds }) } as const;
    const done = (await this.consents.change(scope, order, proof)).filter(({ isDone }) => isDone);
    const consents = before.filter(({ topicId }) => done.some((outcome) => outcome.topicId === topicId));
    return { consents, revokedAt: done[0]?.consent?.revokedAt ?? null };
  }

  async #undoable(
    scope: ProjectScope,
    taken: Omit<Unsubscription, 'linkId'>,
    proof: ConsentProof,
  ): Promise<string | null> {
    const linkId = linkOf(proof, taken.subscriberId);
    const added = await this.unsubscriptions.add(scope, { ...taken, linkId });
    return added ?? this.unsubscriptions.latest(scope, taken.subscriberId, linkId);
  }
}

/** The delivery that the link is about, or for preferences the subscriber. */
function linkOf({ actorId }: ConsentProof, subscriberId: string): string {
  return actorId ?? subscriberId;
}
