import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { consentProof, type ConsentProof } from '../consents/consent-proof.js';
import { ConsentWriter, type SubscriberOutcome } from '../consents/consent-writer.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import { grantFault } from '../topics/topic.js';
import { TopicRepository } from '../topics/topic.repository.js';

/** The outcome for each person; missing people were erased. */
export type ConsentOutcomes = ReadonlyMap<
  string,
  'changed' | 'unchanged' | 'refused' | 'suppressed' | 'no-topic'
>;

interface LockedPerson {
  readonly id: string;
  readonly suppressed: boolean;
}

/** Grants and revokes consents for automations, for many people at once. */
@Injectable()
export class AutomatedConsents {
  constructor(
    private readonly database: Database,
    private readonly consents: ConsentWriter,
    private readonly topics: TopicRepository,
    private readonly suppressions: SuppressionRepository,
  ) {}

  /**
   * Grants consent by the rules of the topic: on double opt-in the person has to confirm it. A revoked consent stays
   * revoked (`refused`): only the person can grant it again.
   */
  subscribe(
    scope: ProjectScope,
    subscriberIds: readonly string[],
    topicKey: string,
    automationId: string,
  ): Promise<ConsentOutcomes> {
    return this.database.transaction(scope, async () => {
      const people = await this.#lock(scope, subscriberIds);
      const topic = (await this.topics.named(scope, [topicKey])).get(topicKey);
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
  unsubscribe(
    scope: ProjectScope,
    subscriberIds: readonly string[],
    topicKey: string,
    automationId: string,
  ): Promise<ConsentOutcomes> {
    return this.database.transaction(scope, async () => {
      const ids = (await this.#lock(scope, subscriberIds)).map(({ id }) => id);
      const topic = (await this.topics.named(scope, [topicKey])).get(topicKey);
      if (topic === undefined) return new Map(ids.map((id) => [id, 'no-topic'] as const));
      const order = { subscriberIds: ids, action: 'revoke', topicIds: [topic.id] } as const;
      const outcomes = byPerson(await this.consents.change(scope, order, proofOf(automationId)));
      const outcomeOf = (id: string) => (outcomes.get(id)?.isDone === true ? 'changed' : 'unchanged');
      return new Map(ids.map((id) => [id, outcomeOf(id)] as const));
    });
  }

  async #lock(scope: ProjectScope, ids: readonly string[]): Promise<readonly LockedPerson[]> {
    const tables = this.database.tables();
    await sql`
      select 1 from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.id = any(${[...ids]}::uuid[]) order by b.id for update
    `.execute(tables);
    const { rows } = await sql<LockedPerson>`
      select b.id, ${this.suppressions.isSuppressed(scope, sql`b.email_key`)} as suppressed from audience.subscribers b
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
