import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { DomainValidationError, type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import { type Consent, ConsentExistsError, consentProof, type ConsentProof } from '../consents/consent.js';
import { ConsentRepository, type SubscriberOutcome } from '../consents/consent.repository.js';
import type { SubscriberRef } from '../subscribers/subscriber.js';
import { isNamed, SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import { grantFault } from '../topics/topic.js';
import { TopicRepository } from '../topics/topic.repository.js';

/** A consent after it was granted. */
export interface GrantedConsent extends Pick<
  Consent,
  'status' | 'grantedAt' | 'confirmedAt' | 'tokenExpiresAt'
> {
  readonly topicKey: string;
  readonly requiresConfirmation: boolean;
}

export interface ConsentPreference extends Pick<
  Consent,
  'status' | 'grantedAt' | 'confirmedAt' | 'revokedAt'
> {
  readonly topicKey: string;
  readonly topicName: string;
  /** The language in which the person last agreed on a page of ours; null when that was elsewhere. */
  readonly textLocale: string | null;
  /** The version of the project's texts there; null when they were ours. */
  readonly textVersion: number | null;
}

/** The consents of a subscriber. */
export interface ConsentPreferences {
  readonly subscriberEmail: string;
  /** The address is suppressed, for any reason. */
  readonly globallySuppressed: boolean;
  readonly consents: readonly ConsentPreference[];
}

export interface WantedRevocation {
  readonly address: Pick<EmailAddress, 'value' | 'key'>;
  readonly topicKey: string;
}

/** The outcome of an automation's step for each person; missing people were erased. */
export type ConsentOutcomes = ReadonlyMap<
  string,
  'changed' | 'unchanged' | 'refused' | 'suppressed' | 'no-topic'
>;

interface LockedPerson {
  readonly id: string;
  readonly suppressed: boolean;
}

/** Grants and revokes consents: of one subscriber for a client, and of many for an automation. */
@Injectable()
export class ConsentsService {
  constructor(
    private readonly database: Database,
    private readonly subscribers: SubscriberRepository,
    private readonly suppressions: SuppressionRepository,
    private readonly topics: TopicRepository,
    private readonly consents: ConsentRepository,
  ) {}

  /** Throws NotFoundError, DomainValidationError, SuppressedError, ConsentExistsError. */
  grant(
    scope: ProjectScope,
    ref: SubscriberRef,
    topicKey: string,
    proof: ConsentProof,
  ): Promise<GrantedConsent> {
    return this.subscribers.whileLocked(scope, ref, async ({ id: subscriberId, key }) => {
      const topic = await this.topics.find(scope, topicKey);
      const fault = grantFault(topic);
      if (topic === undefined || fault !== null) throw new DomainValidationError({ topicKey: fault ?? '' });
      await this.suppressions.refuseSuppressed(scope, key);
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
    ref: SubscriberRef,
    topicKey: string,
    proof: ConsentProof,
  ): Promise<void> {
    await this.subscribers.whileLocked(scope, ref, async ({ id: subscriberId }) => {
      const { id } = await this.topics.existing(scope, topicKey);
      await this.consents.change(
        scope,
        { subscriberIds: [subscriberId], action: 'revoke', topicIds: [id] },
        proof,
      );
    });
  }

  /**
   * Revokes consents as `revoke` does each, all in one transaction. Returns for each in order whether it is that which changed it, or
   * NotFoundError for an unknown subscriber, DomainValidationError for an unknown topic.
   */
  revokeEach(
    scope: ProjectScope,
    wanted: readonly WantedRevocation[],
    proof: ConsentProof,
  ): Promise<readonly (boolean | NotFoundError | DomainValidationError)[]> {
    const mailed = wanted.map(({ address: { value, key } }) => ({ value, key, subscriberId: null }));
    return this.subscribers.whileAllLocked(scope, mailed, async (addresses) => {
      const idOf = new Map(addresses.map(({ key, subscriberId }) => [key, subscriberId]));
      const named = wanted.map(({ topicKey }) => topicKey);
      const topics = await this.topics.named(scope, named);
      const changed = new Set<string>();
      for (const [topicKey, { id: topicId }] of topics) {
        const ids = wanted
          .filter((one) => one.topicKey === topicKey)
          .flatMap(({ address }) => idOf.get(address.key) ?? []);
        const order = { subscriberIds: [...new Set(ids)], action: 'revoke', topicIds: [topicId] } as const;
        if (ids.length === 0) continue;
        for (const { subscriberId, isDone } of await this.consents.change(scope, order, proof))
          if (isDone) changed.add(`${subscriberId} ${topicKey}`);
      }
      return wanted.map(({ address: { key }, topicKey }) => {
        const id = idOf.get(key) ?? null;
        if (id === null) return new NotFoundError('No subscriber has this address.');
        if (!topics.has(topicKey))
          return new DomainValidationError({ topicKey: 'is not a topic of this project' });
        return changed.delete(`${id} ${topicKey}`);
      });
    });
  }

  /**
   * Grants consent by the rules of the topic: on double opt-in the person has to confirm it. A revoked consent stays revoked
   * (`refused`): only the person can grant it again.
   */
  grantForAutomation(
    scope: ProjectScope,
    subscriberIds: readonly string[],
    topicKey: string,
    automationId: string,
  ): Promise<ConsentOutcomes> {
    return this.database.transaction(scope, async () => {
      const people = await this.#lock(scope, subscriberIds);
      const topic = await this.topics.find(scope, topicKey);
      if (topic === undefined || grantFault(topic) !== null)
        return new Map(people.map(({ id }) => [id, 'no-topic'] as const));
      const free = people.filter(({ suppressed }) => !suppressed).map(({ id }) => id);
      const order = { subscriberIds: free, action: 'offer', topics: [topic] } as const;
      const outcomes = byPerson(await this.consents.change(scope, order, proofOf(automationId)));
      const outcomeOf = ({ id, suppressed }: LockedPerson) => {
        if (suppressed) return 'suppressed';
        if (outcomes.get(id)?.isDone === true) return 'changed';
        return outcomes.get(id)?.from === 'UNSUBSCRIBED' ? 'refused' : 'unchanged';
      };
      return new Map(people.map((person) => [person.id, outcomeOf(person)] as const));
    });
  }

  /** Revokes consents that are subscribed or pending. */
  revokeForAutomation(
    scope: ProjectScope,
    subscriberIds: readonly string[],
    topicKey: string,
    automationId: string,
  ): Promise<ConsentOutcomes> {
    return this.database.transaction(scope, async () => {
      const ids = (await this.#lock(scope, subscriberIds)).map(({ id }) => id);
      const topic = await this.topics.find(scope, topicKey);
      if (topic === undefined) return new Map(ids.map((id) => [id, 'no-topic'] as const));
      const order = { subscriberIds: ids, action: 'revoke', topicIds: [topic.id] } as const;
      const outcomes = byPerson(await this.consents.change(scope, order, proofOf(automationId)));
      const outcomeOf = (id: string) => (outcomes.get(id)?.isDone === true ? 'changed' : 'unchanged');
      return new Map(ids.map((id) => [id, outcomeOf(id)] as const));
    });
  }

  /** All consents ever given, topics newest first. Throws NotFoundError. */
  preferences(scope: ProjectScope, ref: SubscriberRef): Promise<ConsentPreferences> {
    return this.database.transaction(scope, async () => {
      const rows = await this.database
        .tables<AudienceTables>()
        .selectFrom('audience.subscribers as b')
        .leftJoin('audience.suppressions as s', (join) =>
          join.onRef('s.environmentId', '=', 'b.environmentId').onRef('s.emailKey', '=', 'b.emailKey'),
        )
        .leftJoin('audience.consents as c', (join) =>
          join.onRef('c.environmentId', '=', 'b.environmentId').onRef('c.subscriberId', '=', 'b.id'),
        )
        .leftJoin('audience.topics as t', (join) =>
          join
            .onRef('t.environmentId', '=', 'c.environmentId')
            .onRef('t.id', '=', 'c.topicId')
            .on('t.deletedAt', 'is', null),
        )
        .leftJoinLateral(
          (of) =>
            of
              .selectFrom('audience.consent_ledger as l')
              .select(['l.textLocale', 'l.textVersion'])
              .where('l.environmentId', '=', scope.environmentId)
              .whereRef('l.subscriberId', '=', 'b.id')
              .whereRef('l.topicId', '=', 'c.topicId')
              .where('l.toStatus', '=', 'SUBSCRIBED')
              .where('l.addressChange', 'is', null)
              .orderBy('l.position', 'desc')
              .limit(1)
              .as('agreed'),
          (join) => join.onTrue(),
        )
        .select(['b.email', 's.emailKey as suppressedKey', 't.topicKey', 't.name as topicName'])
        .select(['c.status', 'c.grantedAt', 'c.confirmedAt', 'c.revokedAt', 'agreed.textLocale'])
        .select('agreed.textVersion')
        .where('b.environmentId', '=', scope.environmentId)
        .where(isNamed(ref))
        .orderBy('t.createdAt', 'desc')
        .orderBy('t.id', 'desc')
        .execute();
      const [subscriber] = rows;
      if (subscriber === undefined) throw new NotFoundError();
      return {
        subscriberEmail: subscriber.email,
        globallySuppressed: subscriber.suppressedKey !== null,
        consents: rows.flatMap(({ topicKey, topicName, status, ...row }) => {
          if (topicKey === null || topicName === null || status === null) return [];
          const { grantedAt, confirmedAt, revokedAt, textLocale, textVersion } = row;
          return [
            { topicKey, topicName, status, grantedAt, confirmedAt, revokedAt, textLocale, textVersion },
          ];
        }),
      };
    });
  }

  async #lock(scope: ProjectScope, ids: readonly string[]): Promise<readonly LockedPerson[]> {
    const tables = this.database.tables();
    await sql`
      select 1 from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.id = any(${[...ids]}::uuid[]) order by b.id for update
    `.execute(tables);
    const { rows } = await sql<LockedPerson>`
      select b.id, ${this.suppressions.isSuppressed(scope, sql`b.email_key`, 'MARKETING', 'each')} as suppressed from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.id = any(${[...ids]}::uuid[])
    `.execute(tables);
    return rows;
  }
}

function byPerson(outcomes: readonly SubscriberOutcome[]): ReadonlyMap<string, SubscriberOutcome> {
  return new Map(outcomes.map((outcome) => [outcome.subscriberId, outcome]));
}

function proofOf(automationId: string): ConsentProof {
  return consentProof('AUTOMATION', automationId, { source: 'automation' });
}
