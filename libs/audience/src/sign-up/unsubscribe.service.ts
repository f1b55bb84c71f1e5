import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { newId, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { ConsentProof } from '../consents/consent.js';
import {
  type ConsentDecision,
  ConsentRepository,
  type StoredConsent,
} from '../consents/consent.repository.js';
import { type Unsubscription, UnsubscriptionRepository } from '../consents/unsubscription.repository.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import { TopicRepository } from '../topics/topic.repository.js';

export interface LeavingOptions {
  /** All consents of the reader, read since the row is locked; default: it is locked, and they are read. */
  readonly stored?: readonly StoredConsent[] | undefined;
  /** Statements for the message that writes the consents. */
  readonly beside?: readonly RawBuilder<unknown>[];
}

/**
 * Unsubscribes the reader of a mail by a link, and undoes it; does nothing for an erased subscriber. Each unsubscription returns
 * the id by which it, or the latest by this link if nothing was left to take, can be undone; null when there is none.
 */
@Injectable()
export class UnsubscribeService {
  constructor(
    private readonly database: Database,
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

  /** Statement that reads the consents of a reader; none for null. */
  reading(scope: ProjectScope, subscriberId: string | null): RawBuilder<StoredConsent> {
    return this.consents.reading(scope, sql`array[${subscriberId}::uuid]`);
  }

  /** Revokes the consents to these topics. */
  leaveTopics(
    scope: ProjectScope,
    subscriberId: string,
    topicIds: readonly string[],
    proof: ConsentProof,
    { stored, beside = [] }: LeavingOptions = {},
  ): Promise<string | null> {
    const [id, linkId] = [newId(), linkOf(proof, subscriberId)];
    const order = { subscriberIds: [subscriberId], action: 'revoke', topicIds } as const;
    const keeping = (decisions: readonly ConsentDecision[]) =>
      this.unsubscriptions.adding(scope, id, {
        ...takenBy(decisions),
        subscriberId,
        linkId,
        suppressedAt: null,
      });
    const leave = async () => {
      const decisions = await this.consents.change(scope, order, proof, {
        stored,
        beside: (all) => [...keeping(all), ...beside],
      });
      if (takenBy(decisions).revokedAt !== null) return id;
      return this.unsubscriptions.latest(scope, subscriberId, linkId);
    };
    return stored === undefined ? this.subscribers.whileLockedById(scope, subscriberId, leave) : leave();
  }

  /** Revokes all consents and suppresses the address. */
  leaveEverything(scope: ProjectScope, subscriberId: string, proof: ConsentProof): Promise<string | null> {
    return this.subscribers.whileOwned(scope, subscriberId, async (address) => {
      const order = { subscriberIds: [subscriberId], action: 'revoke' } as const;
      const taken = takenBy(await this.consents.change(scope, order, proof));
      const wasSuppressed = await this.suppressions.isSuppressed(scope, address.key);
      const added = wasSuppressed
        ? null
        : await this.suppressions.suppress(scope, address, 'GLOBAL_UNSUBSCRIBE', proof);
      const [id, linkId] = [newId(), linkOf(proof, subscriberId)];
      const suppressedAt = added?.suppressedAt ?? null;
      const adding = this.unsubscriptions.adding(scope, id, { ...taken, subscriberId, linkId, suppressedAt });
      if (adding.length === 0) return this.unsubscriptions.latest(scope, subscriberId, linkId);
      await this.database.together(...adding);
      return id;
    });
  }

  /** The id by which the latest unsubscription by a link can be undone, or null. */
  undoOf(scope: ProjectScope, subscriberId: string, linkId: string): Promise<string | null> {
    return this.unsubscriptions.latest(scope, subscriberId, linkId);
  }

  /**
   * Undoes an unsubscription by the same link, once: brings back what it took, as it was, unless it changed since. Returns the
   * ids of the topics that mail may be sent about again, also to a second click; null when there is nothing to undo, or not any more.
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
      if (taken === null) {
        if (await this.suppressions.isSuppressed(scope, address.key)) return null;
        return this.unsubscriptions.undone(scope, subscriberId, proof);
      }
      const { consents: before, revokedAt, suppressedAt } = taken;
      if (suppressedAt !== null) await this.suppressions.liftUnsubscribed(scope, address, suppressedAt);
      if (revokedAt === null) return [];
      const outcomes = await this.consents.restore(scope, subscriberId, { before, revokedAt }, proof);
      return outcomes.flatMap(({ topicId, consent }) => (consent?.status === 'SUBSCRIBED' ? [topicId] : []));
    });
  }
}

/** The consents that were revoked, as they were before. */
function takenBy(decisions: readonly ConsentDecision[]): Pick<Unsubscription, 'consents' | 'revokedAt'> {
  const done = decisions.filter(({ isDone }) => isDone);
  const consents = done.flatMap(({ stored }) => stored ?? []);
  return { consents, revokedAt: done[0]?.consent?.revokedAt ?? null };
}

/** The delivery that the link is about, or for preferences the subscriber. */
function linkOf({ actorId }: ConsentProof, subscriberId: string): string {
  return actorId ?? subscriberId;
}
