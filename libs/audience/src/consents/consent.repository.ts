import { Inject, Injectable, Optional } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock, type Metadata, newId, type ProjectScope, type PublishedEventType } from '#kernel';
import { Database, named, Publisher } from '#platform';
import { TRIGGERS_CHANNEL } from '../triggers.service.js';
import {
  act,
  type AddressChange,
  type ChangeContext,
  type Consent,
  type ConsentAction,
  type ConsentActor,
  type ConsentOutcome,
  consentProof,
  type ConsentProof,
  type ConsentTopic,
  type FirstConsents,
  restored,
  STATUS_OF_SUPPRESSED,
  type SubscriberStatus,
  subscriberStatus,
} from './consent.js';
import {
  type Asked,
  selected,
  selectedForMade,
  written,
  type WrittenConsent,
} from './consent-writes.query.js';
import { refreshingStatuses, type StatusesById, writingStatuses } from './subscriber-status.query.js';

/** Confirmation mails: a port of the context that sends mail. */
export abstract class OptInMails {
  /** Statement that queues a mail for each of these new requests, to be sent no earlier than `dueAt`: for the open transaction. */
  abstract queueing(
    scope: ProjectScope,
    confirmationIds: readonly string[],
    dueAt: Date,
  ): Promise<RawBuilder<unknown>>;

  /** Key of the published template of kind OPT_IN with this key or alias. Throws DomainValidationError. */
  abstract templateKey(scope: ProjectScope, keyOrAlias: string): Promise<string>;
}

/**
 * Selects `confirmation_id`, `subscriber_id`, `email` and `email_key` of confirmation requests, for a statement of the
 * context that sends mail. Never a join: of many requests each must be one look-up in an index, whatever the statistics.
 */
export function confirmationRecipients(
  scope: ProjectScope,
  confirmationIds: readonly string[],
): RawBuilder<unknown> {
  return sql`
    select f.id as confirmation_id, b.id as subscriber_id, b.email, b.email_key
    from unnest(${[...confirmationIds]}::uuid[]) n(id)
    cross join lateral (
      select f.id, f.subscriber_id from audience.confirmations f
      where f.environment_id = ${scope.environmentId} and f.id = n.id limit 1
    ) f
    cross join lateral (
      select b.id, b.email, b.email_key from audience.subscribers b
      where b.environment_id = ${scope.environmentId} and b.id = f.subscriber_id limit 1
    ) b`;
}

/** A change of consents: the subscribers, the topics and the action. */
export type ConsentOrder = { readonly subscriberIds: readonly string[] } & (
  | { readonly action: 'grant' | 'offer' | 'join'; readonly topics: readonly ConsentTopic[] }
  | {
      readonly action: 'move';
      readonly topics: readonly ConsentTopic[];
      readonly addressChange: AddressChange;
    }
  | {
      readonly action: Exclude<ConsentAction, 'grant' | 'offer' | 'join' | 'move'>;
      /** Default: all topics with a consent. */
      readonly topicIds?: readonly string[];
    }
);

/** The outcome for one person's consent to one topic. */
export interface SubscriberOutcome extends ConsentOutcome {
  readonly subscriberId: string;
  readonly topicId: string;
}

/** The same, with the consent before the action; null: never given. */
export interface ConsentDecision extends SubscriberOutcome {
  readonly stored: StoredConsent | null;
}

/** A consent with the status and age of its subscriber. */
export interface StoredConsent extends Consent {
  readonly subscriberId: string;
  readonly subscriberStatus: SubscriberStatus;
  readonly subscriberCreatedAt: Date;
}

export interface ChangeOptions {
  /** When its confirmation mails are due; default: at once. */
  readonly mailsDueAt?: Date;
  /** All consents of the subscribers, as they were read (`reading`) since the subscribers are locked. */
  readonly stored?: readonly StoredConsent[] | undefined;
  /** Statements for the message that writes the consents. */
  readonly beside?: (decisions: readonly ConsentDecision[]) => readonly RawBuilder<unknown>[];
}

type Environment = Pick<ProjectScope, 'environmentId'>;

/** Actors that change the consents of thousands at a time: no event is published for each. */
const UNPUBLISHED: ReadonlySet<ConsentActor> = new Set(['IMPORT', 'AUTOMATION']);

/**
 * The only writer of consents, for one person or a million: writes them with the consent record, confirmation requests and their
 * mails, and the subscribers' statuses. Callers hold the locks of the subscribers' rows, which protect their consents.
 */
@Injectable()
export class ConsentRepository {
  constructor(
    private readonly database: Database,
    private readonly publisher: Publisher,
    private readonly clock: Clock,
    @Optional() @Inject(OptInMails) private readonly mails: OptInMails | undefined,
  ) {}

  /** All consents that the subscriber ever gave. */
  ofSubscriber(scope: ProjectScope, subscriberId: string): Promise<readonly Consent[]> {
    return this.database.transaction(scope, () => this.#read(scope, [subscriberId]));
  }

  /** Statement that reads all consents of these subscribers, an array of ids. */
  reading({ environmentId }: Environment, subscriberIds: RawBuilder<unknown>): RawBuilder<StoredConsent> {
    return sql<StoredConsent>`${named('stored_consents')}
      select subscriber_id, subscriber_status, subscriber_created_at, topic_id, status, granted_at,
        confirmed_at, revoked_at, token_expires_at, subscribed_at
      from audience.consents
      where environment_id = ${environmentId} and subscriber_id = any(${subscriberIds})`;
  }

  /** Returns the outcome for each person and topic, changed or not. */
  change(
    scope: ProjectScope,
    order: ConsentOrder,
    proof: ConsentProof,
    { mailsDueAt, stored, beside = () => [] }: ChangeOptions = {},
  ): Promise<readonly ConsentDecision[]> {
    return this.database.transaction(scope, async () => {
      const addressChange = order.action === 'move' ? order.addressChange : null;
      const context = { at: this.clock.now(), proof, addressChange };
      const before = stored ?? (await this.#read(scope, order.subscriberIds));
      const decisions = decide(order, before, context.at);
      const asks = order.action === 'askAgain' ? 'again' : 'first';
      const change = { before, decisions, context, asks, beside: beside(decisions) } as const;
      const asked = await this.#write(scope, 'changed', change);
      await this.#queueMails(scope, asked, mailsDueAt ?? context.at);
      await this.publish(scope, decisions, proof);
      return decisions;
    });
  }

  /**
   * Returns consents of a person to what they were `before` a revocation, if they did not change since; sends no mail for those
   * that wait for their confirmation. Returns the outcomes of those that it restored.
   */
  restore(
    scope: ProjectScope,
    subscriberId: string,
    { before, revokedAt }: { readonly before: readonly Consent[]; readonly revokedAt: Date },
    proof: ConsentProof,
  ): Promise<readonly SubscriberOutcome[]> {
    return this.database.transaction(scope, async () => {
      const current = await this.#read(scope, [subscriberId]);
      const decisions = before.flatMap((consent): ConsentDecision[] => {
        const { topicId } = consent;
        const stored = current.find((one) => one.topicId === topicId);
        const outcome = restored(stored, consent, revokedAt);
        return outcome === null || stored === undefined
          ? []
          : [{ subscriberId, topicId, stored, ...outcome }];
      });
      const context = { at: this.clock.now(), proof };
      await this.#write(scope, 'changed', { before: current, decisions, context, asks: 'nobody' });
      await this.publish(scope, decisions, proof);
      return decisions;
    });
  }

  /** Expires consents that were not confirmed in time, in the system's open transaction. */
  async expire(environment: Environment, subscriberIds: readonly string[]): Promise<void> {
    const context = { at: this.clock.now(), proof: consentProof('EXPIRY', null) };
    const before = await this.#read(environment, subscriberIds);
    const decisions = decide({ subscriberIds, action: 'expire' }, before, context.at);
    await this.#write(environment, 'changed', { before, decisions, context });
  }

  /** Revokes these people's consents to a topic in the consent record, and removes them. Publishes no events. */
  remove(
    scope: ProjectScope,
    subscriberIds: readonly string[],
    topicId: string,
    proof: ConsentProof,
  ): Promise<void> {
    return this.database.transaction(scope, async () => {
      const context = { at: this.clock.now(), proof };
      const order = { subscriberIds, action: 'revoke', topicIds: [topicId] } as const;
      const before = await this.#read(scope, subscriberIds);
      const decisions = decide(order, before, context.at);
      await this.#write(scope, 'removed', { before, decisions, context });
    });
  }

  /**
   * Creates subscribers with the same first consents in one statement, in the open transaction; publishes no events. `making`: a
   * WITH whose `made` inserts them and returns `id`, `status` and `created_at`. Returns one row of `columns` of `made b`.
   */
  async createSubscribers<Row extends object>(
    scope: ProjectScope,
    making: RawBuilder<unknown>,
    columns: RawBuilder<Row>,
    first: FirstConsents,
    context: ChangeContext,
  ): Promise<Row> {
    const { rows } = await sql<Row & { readonly confirmationIds: readonly string[] | null }>`${making},
      ${written(scope, selectedForMade(first), 'new', context)}
      select ${columns}, (select array_agg(id) from asked) as confirmation_ids from made b
    `.execute(this.database.tables());
    this.#notify(first.consents);
    const { confirmationIds, ...row } = rows[0]!;
    await this.#queueMails(scope, confirmationIds ?? [], context.mailsDueAt ?? context.at);
    return row as unknown as Row;
  }

  /** Statements that create one subscriber, in the same way: the row of `columns` is the first's; the second queues the mail. */
  async creation<Row>(
    scope: ProjectScope,
    making: RawBuilder<unknown>,
    columns: RawBuilder<Row>,
    first: FirstConsents,
    context: ChangeContext,
  ): Promise<[RawBuilder<Row>, ...RawBuilder<unknown>[]]> {
    this.#notify(first.consents);
    const confirmationId = newId();
    const creating = sql<Row>`${making},
      ${written(scope, selectedForMade(first), 'new', context, { confirmationId })}
      select ${columns} from made b`;
    if (!first.consents.some(({ status }) => status === 'PENDING_CONFIRMATION')) return [creating];
    return [
      creating,
      await this.#mailQueue.queueing(scope, [confirmationId], context.mailsDueAt ?? context.at),
    ];
  }

  /**
   * Inserts revoked consents that subscribers had before, in the open transaction. `revoked` selects `subscriber_id`, `topic_id`
   * and `revoked_at` from the parts of the WITH `finding`.
   */
  async insertRevoked(
    scope: ProjectScope,
    finding: RawBuilder<unknown>,
    revoked: RawBuilder<unknown>,
    context: ChangeContext,
  ): Promise<void> {
    const consents = sql`
      select subscriber_id, null::text as subscriber_status, null::timestamptz as subscriber_created_at, topic_id,
        'UNSUBSCRIBED'::text as status, null::timestamptz as granted_at, null::timestamptz as confirmed_at, revoked_at,
        null::timestamptz as token_expires_at, null::timestamptz as subscribed_at, null::text as from_status,
        false as has_expired
      from (${revoked}) r`;
    await sql`${finding}, ${written(scope, consents, 'new', context)} select count(*) from recorded`.execute(
      this.database.tables(),
    );
  }

  /** Derives and writes the statuses of these subscribers again, in the open transaction. */
  async refreshStatuses(scope: Environment, subscriberIds: readonly string[], at: Date): Promise<void> {
    await refreshingStatuses(scope, subscriberIds, at).execute(this.database.tables());
  }

  /** Publishes changed consents, in the transaction that changes them. No event is published for an expired one. */
  async publish(
    scope: ProjectScope,
    outcomes: readonly SubscriberOutcome[],
    { actor }: Pick<ConsentProof, 'actor'>,
  ): Promise<void> {
    if (UNPUBLISHED.has(actor)) return;
    const heard = outcomes.flatMap((outcome) => {
      const type = eventOf(outcome);
      return type !== null && this.publisher.hasListeners(scope, type) ? [{ ...outcome, type }] : [];
    });
    if (heard.length === 0) return;
    const nameOf = await this.#names(scope, heard);
    const events = heard.flatMap(({ subscriberId, topicId, type, consent }) => {
      const name = nameOf.get(`${subscriberId} ${topicId}`);
      if (name === undefined || consent === null) return [];
      const { status, grantedAt, confirmedAt, revokedAt } = consent;
      const data = { subscriberId, ...name, status, grantedAt, confirmedAt, revokedAt };
      return [{ type, subscriberId, data }];
    });
    await this.publisher.publish(scope, ...events);
  }

  #names(scope: ProjectScope, outcomes: readonly SubscriberOutcome[]) {
    return this.database.transaction(scope, async () => {
      // A template: one parameter for each person would make a new statement for each number of people.
      const { rows } = await sql<{ key: string; email: string; topicKey: string; topicMetadata: Metadata }>`
        select b.id || ' ' || t.id as key, b.email, t.topic_key, t.metadata as topic_metadata
        from unnest(${outcomes.map((one) => one.subscriberId)}::uuid[], ${outcomes.map((one) => one.topicId)}::uuid[])
          as o(subscriber_id, topic_id)
        join audience.subscribers b on b.environment_id = ${scope.environmentId} and b.id = o.subscriber_id
        join audience.topics t on t.environment_id = b.environment_id and t.id = o.topic_id
      `.execute(this.database.tables());
      return new Map(rows.map(({ key, ...names }) => [key, names]));
    });
  }

  async #read(environment: Environment, subscriberIds: readonly string[]): Promise<readonly StoredConsent[]> {
    if (subscriberIds.length === 0) return [];
    const reading = this.reading(environment, sql`${[...subscriberIds]}::uuid[]`);
    return (await reading.execute(this.database.tables())).rows;
  }

  /** Returns the ids of the confirmation requests. */
  async #write(
    environment: Environment,
    into: 'changed' | 'removed',
    { before, decisions, context, asks = 'first', beside = [] }: ConsentChange,
  ): Promise<readonly string[]> {
    const changes = into === 'removed' ? decisions : decisions.filter(isChanged);
    const statusOf = statusesAfter(before, changes, into);
    const consents = changes.flatMap((change) => writtenConsent(change, statusOf));
    if (consents.length === 0) {
      if (beside.length > 0) await this.database.together(...beside);
      return [];
    }
    const writing = sql<{ id: string }>`${named('write_consents')}
      with ${written(environment, selected(consents), into, context, { asks })} select id from asked`;
    const statuses = writingStatuses(environment, statusOf, context.at);
    const [asked] = await this.database.together(writing, ...statuses, ...beside);
    this.#notify(consents);
    return asked.map(({ id }) => id);
  }

  /** Notifies those who may wait for somebody to give one of these consents. */
  #notify(consents: readonly Pick<Consent, 'status'>[]): void {
    if (consents.some(({ status }) => status === 'SUBSCRIBED')) this.database.notify(TRIGGERS_CHANNEL);
  }

  async #queueMails(scope: ProjectScope, confirmationIds: readonly string[], dueAt: Date): Promise<void> {
    if (confirmationIds.length === 0) return;
    const queueing = await this.#mailQueue.queueing(scope, confirmationIds, dueAt);
    await queueing.execute(this.database.tables());
  }

  get #mailQueue(): OptInMails {
    if (this.mails === undefined) throw new Error('This program cannot send confirmation mails.');
    return this.mails;
  }
}

/** Decisions to write, and all consents that their subscribers had before. */
interface ConsentChange {
  readonly before: readonly StoredConsent[];
  readonly decisions: readonly ConsentDecision[];
  readonly context: ChangeContext;
  readonly asks?: Asked;
  readonly beside?: readonly RawBuilder<unknown>[];
}

function decide(order: ConsentOrder, consents: readonly StoredConsent[], at: Date): ConsentDecision[] {
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

function isChanged({ isDone, hasExpired }: ConsentOutcome): boolean {
  return isDone || hasExpired;
}

function writtenConsent(
  { subscriberId, stored, consent, from, hasExpired }: ConsentDecision,
  statusOf: StatusesById,
): WrittenConsent[] {
  if (consent === null) return [];
  const { subscriberStatus: before = null, subscriberCreatedAt = null } = stored ?? {};
  const next = stored === null ? null : (statusOf.get(subscriberId) ?? before);
  return [{ subscriberId, subscriberStatus: next, subscriberCreatedAt, ...consent, from, hasExpired }];
}

/**
 * Statuses that follow from changes, of the subscribers that may have another one. A suppressed address decides about the status
 * alone, and its person gets no consents (`refuseSuppressed`).
 */
function statusesAfter(
  before: readonly StoredConsent[],
  changes: readonly SubscriberOutcome[],
  into: 'changed' | 'removed',
): StatusesById {
  const consentsOf = Map.groupBy(before, ({ subscriberId }) => subscriberId);
  const changesOf = Map.groupBy(changes, ({ subscriberId }) => subscriberId);
  return new Map(
    [...changesOf].flatMap(([subscriberId, own]): (readonly [string, SubscriberStatus])[] => {
      const known = consentsOf.get(subscriberId) ?? [];
      const current = known[0]?.subscriberStatus;
      if (current !== undefined && SUPPRESSED_STATUSES.has(current)) return [];
      const changed = new Set(own.map(({ topicId }) => topicId));
      const kept = known.filter(({ topicId }) => !changed.has(topicId));
      const made = into === 'removed' ? [] : own.flatMap(({ consent }) => consent ?? []);
      const status = subscriberStatus(
        null,
        [...kept, ...made].map((consent) => consent.status),
      );
      return status === current ? [] : [[subscriberId, status]];
    }),
  );
}

function eventOf({ isDone, from, consent }: ConsentOutcome): PublishedEventType | null {
  if (!isDone || consent === null || consent.status === from) return null;
  switch (consent.status) {
    case 'EXPIRED':
      return null;
    case 'PENDING_CONFIRMATION':
      return 'consent.pending';
    case 'UNSUBSCRIBED':
      return 'consent.revoked';
    case 'SUBSCRIBED':
      return from === 'PENDING_CONFIRMATION' ? 'consent.confirmed' : 'consent.granted';
  }
}

const SUPPRESSED_STATUSES: ReadonlySet<SubscriberStatus> = new Set(Object.values(STATUS_OF_SUPPRESSED));
