import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database, environmentOf, publish, type Sql, unestimated } from '#platform';
import { ImportedConsents } from '../imports/imported-consents.repository.js';
import { refreshStatuses } from '../subscribers/subscriber.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import { grantFault } from '../topics/topic.js';
import { TopicRepository } from '../topics/topic.repository.js';
import { ConfirmationsRequested } from './consent.events.js';
import { consentProof, type ConsentProof } from './consent-proof.js';

/** What became of each person; who is missing was erased. */
export type ConsentOutcomes = ReadonlyMap<
  string,
  'changed' | 'unchanged' | 'refused' | 'suppressed' | 'no-topic'
>;

interface LockedPerson {
  readonly id: string;
  readonly suppressed: boolean;
}

/** Consents that an automation grants and takes back, for many people at once. */
@Injectable()
export class AutomatedConsents {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ImportedConsents) private readonly consents: ImportedConsents,
    @Inject(TopicRepository) private readonly topics: TopicRepository,
    @Inject(SuppressionRepository) private readonly suppressions: SuppressionRepository,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Grants consent as the topic demands it: on double opt-in the person has to confirm it. What somebody took back
   * stays so (`refused`): only people lift their own "no".
   */
  subscribe(
    scope: ProjectScope,
    subscriberIds: readonly string[],
    topicKey: string,
    automationId: string,
  ): Promise<ConsentOutcomes> {
    return this.database.transaction(scope, async ({ db }) => {
      const people = await this.#lock(scope, db, subscriberIds);
      const topic = (await this.topics.named(scope, [topicKey])).get(topicKey);
      if (topic === undefined || grantFault(topic) !== null)
        return new Map(people.map(({ id }) => [id, 'no-topic'] as const));
      const ids = people.filter(({ suppressed }) => !suppressed).map(({ id }) => id);
      const occasion = { at: this.clock.now(), proof: proofOf(automationId) };
      const { subscriberIds: changed, confirmationIds } = await this.consents.grant(
        scope,
        ids,
        [topic],
        occasion,
      );
      if (changed.length > 0) await refreshStatuses(db, changed, occasion.at);
      if (confirmationIds.length > 0) await publish(db, scope, ConfirmationsRequested({ confirmationIds }));
      const granted = new Set(changed);
      const refusals = await this.consents.refused(scope, ids, [topic]);
      const refused = new Set(refusals.map(({ subscriberId }) => subscriberId));
      const outcomeOf = ({ id, suppressed }: LockedPerson) => {
        if (suppressed) return 'suppressed';
        if (granted.has(id)) return 'changed';
        return refused.has(id) ? 'refused' : 'unchanged';
      };
      return new Map(people.map((person) => [person.id, outcomeOf(person)] as const));
    });
  }

  /** Takes consents back that stand or wait for their confirmation. */
  unsubscribe(
    scope: ProjectScope,
    subscriberIds: readonly string[],
    topicKey: string,
    automationId: string,
  ): Promise<ConsentOutcomes> {
    return this.database.transaction(scope, async ({ db }) => {
      const people = await this.#lock(scope, db, subscriberIds);
      const topic = (await this.topics.named(scope, [topicKey])).get(topicKey);
      if (topic === undefined) return new Map(people.map(({ id }) => [id, 'no-topic'] as const));
      const at = this.clock.now();
      const ids = people.map(({ id }) => id);
      const revoked = new Set(
        await revoke(db, scope, { ids, topicId: topic.id, proof: proofOf(automationId), at }),
      );
      if (revoked.size > 0) await refreshStatuses(db, [...revoked], at);
      return new Map(ids.map((id) => [id, revoked.has(id) ? 'changed' : 'unchanged'] as const));
    });
  }

  async #lock(scope: ProjectScope, db: Sql, ids: readonly string[]): Promise<readonly LockedPerson[]> {
    await sql`
      select from audience.subscribers b
      where b.environment_id = ${environmentOf(scope)} and b.id = any(${[...ids]}::uuid[]) order by b.id for update
    `.execute(db);
    const { rows } = await sql<LockedPerson>`
      select b.id, ${this.suppressions.isSuppressed(scope, sql`b.email_key`)} as suppressed from audience.subscribers b
      where b.environment_id = ${environmentOf(scope)} and b.id = any(${[...ids]}::uuid[])
    `.execute(db);
    return rows;
  }
}

function proofOf(automationId: string): ConsentProof {
  return consentProof('AUTOMATION', automationId, { source: 'automation' });
}

interface Revocation {
  readonly ids: readonly string[];
  readonly topicId: string;
  readonly proof: ConsentProof;
  readonly at: Date;
}

/** What `Consent.revoke` does, for subscribers who are locked; returns whose consents changed. */
async function revoke(
  db: Sql,
  scope: ProjectScope,
  { ids, topicId, proof, at }: Revocation,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with standing as (
      select c.subscriber_id, c.status from audience.consents c
      where c.environment_id = ${environmentOf(scope)} and c.subscriber_id = any(${[...ids]}::uuid[]) and c.topic_id = ${unestimated(topicId, 'uuid')}
        and (c.status = 'SUBSCRIBED' or (c.status = 'PENDING_CONFIRMATION' and c.token_expires_at > ${at}))
    ), revoked as (
      update audience.consents c set status = 'UNSUBSCRIBED', revoked_at = ${at}, token_expires_at = null, subscribed_at = null
      from standing s where c.subscriber_id = s.subscriber_id and c.topic_id = ${topicId}
    ), recorded as (
      insert into audience.consent_ledger (id, environment_id, subscriber_id, topic_id, from_status, to_status,
        occurred_at, actor, actor_id, source)
      select platform.new_id(), ${scope.environmentId}, s.subscriber_id, ${topicId}, s.status, 'UNSUBSCRIBED', ${at},
        ${proof.actor}, ${proof.actorId}, ${proof.source}
      from standing s
    )
    select subscriber_id as id from standing
  `.execute(db);
  return rows.map(({ id }) => id);
}
