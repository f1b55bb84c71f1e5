import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database, prepared, publish } from '#platform';
import { TRIGGERS_CHANNEL } from '../triggers/triggers.service.js';
import {
  act,
  type Consent,
  type ConsentAction,
  type ConsentOutcome,
  type ConsentTopic,
  restored,
} from './consent.js';
import { ConfirmationRequested, ConfirmationsRequested } from './consent.events.js';
import { type ConsentOccasion, consentProof, type ConsentProof } from './consent-proof.js';
import { ConsentPublisher } from './consent-publisher.service.js';
import { refreshedStatuses, selected, written, type WrittenConsent } from './written-consents.query.js';

/** A change of consents: the subscribers, the topics and the action. */
export type ConsentOrder = { readonly subscriberIds: readonly string[] } & (
  | { readonly action: 'grant' | 'offer' | 'join'; readonly topics: readonly ConsentTopic[] }
  | {
      readonly action: Exclude<ConsentAction, 'grant' | 'offer' | 'join'>;
      /** Default: all topics with a consent. */
      readonly topicIds?: readonly string[];
    }
);

/** The outcome for one person's consent to one topic. */
export interface SubscriberOutcome extends ConsentOutcome {
  readonly subscriberId: string;
  readonly topicId: string;
}

type Environment = Pick<ProjectScope, 'environmentId'>;
type StoredConsent = Omit<WrittenConsent, 'from' | 'hasExpired'>;
type Decision = SubscriberOutcome & { readonly stored: StoredConsent | null };

/**
 * The only writer of consents, for one person or thousands. It also writes the consent record, confirmation requests and
 * their mails, and the subscribers' statuses. Callers hold the locks of the subscribers' rows.
 */
@Injectable()
export class ConsentWriter {
  constructor(
    private readonly database: Database,
    private readonly publisher: ConsentPublisher,
    private readonly clock: Clock,
  ) {}

  /** All consents that the subscriber ever gave. */
  ofSubscriber(scope: ProjectScope, subscriberId: string): Promise<readonly Consent[]> {
    return this.database.transaction(scope, () => this.#read(scope, [subscriberId]));
  }

  /** Returns the outcome for each person and topic, changed or not. */
  change(
    scope: ProjectScope,
    order: ConsentOrder,
    proof: ConsentProof,
  ): Promise<readonly SubscriberOutcome[]> {
    return this.database.transaction(scope, async () => {
      const at = this.clock.now();
      const decisions = decide(order, await this.#read(scope, order.subscriberIds), at);
      const rows = rowsOf(decisions.filter(isWritten));
      if (rows.length === 0) return decisions;
      const asks = order.action === 'askAgain' ? 'again' : 'first';
      const confirmationIds = await this.#write(scope, rows, 'changed', { at, proof }, asks);
      await requestMails(this.database, scope, confirmationIds);
      await this.publisher.publish(scope, decisions, proof);
      await this.#refreshStatuses(scope, peopleOf(rows), at);
      return decisions;
    });
  }

  /**
   * Brings consents of a person back to what they were `before` a revocation, if they did not change since: no mail asks for
   * those that wait for their confirmation. Returns the outcomes of those that it brought back.
   */
  restore(
    scope: ProjectScope,
    subscriberId: string,
    { before, revokedAt }: { readonly before: readonly Consent[]; readonly revokedAt: Date },
    proof: ConsentProof,
  ): Promise<readonly SubscriberOutcome[]> {
    return this.database.transaction(scope, async () => {
      const at = this.clock.now();
      const current = await this.#read(scope, [subscriberId]);
      const decisions = before.flatMap((consent): Decision[] => {
        const { topicId } = consent;
        const stored = current.find((one) => one.topicId === topicId);
        const outcome = restored(stored, consent, revokedAt);
        return outcome === null || stored === undefined
          ? []
          : [{ subscriberId, topicId, stored, ...outcome }];
      });
      await this.#write(scope, rowsOf(decisions), 'changed', { at, proof }, 'nobody');
      await this.publisher.publish(scope, decisions, proof);
      await this.#refreshStatuses(scope, [subscriberId], at);
      return decisions;
    });
  }

  /** Expires consents that were not confirmed in time, in the system's open transaction. */
  async expire(environment: Environment, subscriberIds: readonly string[]): Promise<void> {
    const at = this.clock.now();
    const stored = await this.#read(environment, subscriberIds);
    const rows = rowsOf(decide({ subscriberIds, action: 'expire' }, stored, at).filter(isWritten));
    await this.#write(environment, rows, 'changed', { at, proof: consentProof('EXPIRY', null) });
    await this.#refreshStatuses(environment, peopleOf(rows), at);
  }

  /** Revokes these people's consents to a topic in the consent record, and removes them. Publishes no events. */
  remove(
    scope: ProjectScope,
    subscriberIds: readonly string[],
    topicId: string,
    proof: ConsentProof,
  ): Promise<void> {
    return this.database.transaction(scope, async () => {
      const at = this.clock.now();
      const order = { subscriberIds, action: 'revoke', topicIds: [topicId] } as const;
      const decisions = decide(order, await this.#read(scope, subscriberIds), at);
      await this.#write(scope, rowsOf(decisions), 'removed', { at, proof });
      await this.#refreshStatuses(scope, subscriberIds, at);
    });
  }

  /** Derives the status again after the suppression of the address changed. */
  async refreshStatus(scope: ProjectScope, subscriberId: string, at: Date): Promise<void> {
    await this.database.transaction(scope, () => this.#refreshStatuses(scope, [subscriberId], at));
  }

  async #read(
    { environmentId }: Environment,
    subscriberIds: readonly string[],
  ): Promise<readonly StoredConsent[]> {
    if (subscriberIds.length === 0) return [];
    const { rows } = await sql<StoredConsent>`${prepared}
      select subscriber_id, subscriber_status, subscriber_created_at, topic_id, status, granted_at,
        confirmed_at, revoked_at, token_expires_at, subscribed_at
      from audience.consents
      where environment_id = ${environmentId} and subscriber_id = any(${[...subscriberIds]}::uuid[])
    `.execute(this.database.tables());
    return rows;
  }

  /** Returns the ids of the confirmation requests. */
  async #write(
    environment: Environment,
    rows: readonly WrittenConsent[],
    into: 'changed' | 'removed',
    occasion: ConsentOccasion,
    asks?: 'first' | 'again' | 'nobody',
  ): Promise<readonly string[]> {
    if (rows.length === 0) return [];
    const { rows: asked } = await sql<{ id: string }>`${prepared}
      with ${written(environment, selected(rows), into, occasion, asks)} select id from asked
    `.execute(this.database.tables());
    wakeForConsents(this.database, rows);
    return asked.map(({ id }) => id);
  }

  async #refreshStatuses(
    environment: Environment,
    subscriberIds: readonly string[],
    at: Date,
  ): Promise<void> {
    await refreshedStatuses(environment, subscriberIds, at).execute(this.database.tables());
  }
}

function decide(order: ConsentOrder, consents: readonly StoredConsent[], at: Date): Decision[] {
  const consentsOf = Map.groupBy(consents, ({ subscriberId }) => subscriberId);
  return order.subscriberIds.flatMap((subscriberId) => {
    const known = consentsOf.get(subscriberId) ?? [];
    return topicsOf(order, known).map((topic) => {
      const stored = known.find(({ topicId }) => topicId === topic.id) ?? null;
      return { subscriberId, topicId: topic.id, stored, ...act(stored, order.action, topic, at) };
    });
  });
}

function topicsOf(order: ConsentOrder, consents: readonly StoredConsent[]): readonly ConsentTopic[] {
  if ('topics' in order) return order.topics;
  const topicIds = consents.map(({ topicId }) => topicId);
  const chosen = topicIds.filter((topicId) => order.topicIds?.includes(topicId) ?? true);
  return chosen.map((id) => ({ id, doubleOptInEnabled: false }));
}

function isWritten({ isDone, hasExpired }: Decision): boolean {
  return isDone || hasExpired;
}

function rowsOf(decisions: readonly Decision[]): readonly WrittenConsent[] {
  return decisions.flatMap(({ subscriberId, stored, consent, from, hasExpired }) => {
    if (consent === null) return [];
    const { subscriberStatus = null, subscriberCreatedAt = null } = stored ?? {};
    return [{ subscriberId, subscriberStatus, subscriberCreatedAt, ...consent, from, hasExpired }];
  });
}

function peopleOf(rows: readonly WrittenConsent[]): readonly string[] {
  return [...new Set(rows.map(({ subscriberId }) => subscriberId))];
}

/** Wakes what may wait for somebody who gave one of these consents. */
export function wakeForConsents(database: Database, consents: readonly Pick<Consent, 'status'>[]): void {
  if (consents.some(({ status }) => status === 'SUBSCRIBED')) database.notify(TRIGGERS_CHANNEL);
}

/** Queues the mails of confirmation requests. */
export async function requestMails(
  database: Database,
  scope: ProjectScope,
  confirmationIds: readonly string[],
): Promise<void> {
  const [confirmationId, ...others] = confirmationIds;
  if (confirmationId === undefined) return;
  const event =
    others.length === 0
      ? ConfirmationRequested({ confirmationId })
      : ConfirmationsRequested({ confirmationIds });
  await publish(database, scope, event);
}
