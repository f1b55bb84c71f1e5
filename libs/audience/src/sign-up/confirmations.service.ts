import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock, InvalidStateError, isUuid, NotFoundError, type ProjectScope } from '#kernel';
import { Database, drainEnvironments, named, Periodic, type RowsOf, type Statements } from '#platform';
import {
  type Consent,
  consentProof,
  type ConsentProof,
  type ConsentWording,
  isUnconfirmed,
  statusAt,
} from '../consents/consent.js';
import { ConsentRepository, type StoredConsent } from '../consents/consent.repository.js';
import type { SubscriberRef } from '../subscribers/subscriber.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import { TopicRepository } from '../topics/topic.repository.js';
import type { Topic, TopicTexts } from '../topics/topic.js';
import { type ConfirmableTopic, namedTopics } from '../topics/topics.query.js';
import {
  type Confirmation,
  confirmationState,
  type ConfirmationState,
  coveredBy,
  repeatsCountSince,
  ResendTooSoonError,
  secondsUntilRepeat,
} from './confirmation.js';

/** The person whom a confirmation mail is for. */
interface ConfirmationReader {
  /** As it was given. */
  readonly email: string;
  readonly emailKey: string;
  readonly firstName: string | null;
  /** BCP 47; null where it is not known. */
  readonly locale: string | null;
  /** IANA; null where it is not known. */
  readonly timeZone: string | null;
}

/** The recipient and content of a confirmation mail. */
export interface ConfirmationMail extends ConfirmationReader {
  readonly confirmationId: string;
  readonly subscriberId: string;
  readonly topics: readonly (TopicTexts & Pick<Topic, 'topicKey' | 'optInTemplateKey'>)[];
  readonly expiresAt: Date;
}

/** The page behind the link of a confirmation mail. */
export interface ConfirmationDescription {
  /** `gone`: no such request, or nothing to confirm. */
  readonly state: ConfirmationState;
  readonly email: string;
  /** BCP 47; null where it is not known. */
  readonly locale: string | null;
  readonly topics: readonly TopicTexts[];
}

export interface ConfirmingPerson {
  readonly ipAddress: string;
  readonly userAgent: string | null;
  /** The Message-ID of the mail with the link, if known. */
  readonly messageId?: string | null;
  /** The wording and text of the page with the button. */
  readonly wording?: ConsentWording;
  readonly consentText?: string;
}

/** A confirmation request in its current state. */
interface ConfirmationStatus {
  readonly confirmation: Confirmation;
  readonly subscriber: ConfirmationReader;
  readonly state: ConfirmationState;
  /** The consents that it covers. */
  readonly consents: readonly Consent[];
  /** All consents of the subscriber. */
  readonly stored: readonly StoredConsent[];
  /** The topics that it covers, but for deleted ones. */
  readonly topics: readonly ConfirmableTopic[];
}

/** A request while its subscriber is locked; without a status there is none. */
export interface LockedRequest {
  readonly description: ConfirmationDescription;
  readonly status: ConfirmationStatus | null;
}

interface RequestRow extends Confirmation, ConfirmationReader {
  readonly suppressedKey: string | null;
  readonly topics: readonly ConfirmableTopic[];
}

/** Subscribers whose consents expire in one transaction. */
const CHUNK = 1_000;

/** The double opt-in: the confirmation mail, the page behind its link, repeats, and the end of the time to confirm. */
@Injectable()
export class ConfirmationsService {
  constructor(
    private readonly database: Database,
    private readonly subscribers: SubscriberRepository,
    private readonly suppressions: SuppressionRepository,
    private readonly topics: TopicRepository,
    private readonly consents: ConsentRepository,
    private readonly clock: Clock,
  ) {}

  /** The mail of a request; null when it was used, has expired, covers nothing pending, or the address is suppressed. */
  async forMail(scope: ProjectScope, confirmationId: string): Promise<ConfirmationMail | null> {
    const [rows, stored] = await this.database.transaction(scope, () =>
      this.database.together(...this.#reading(scope, confirmationId)),
    );
    const status = this.#statusOf(rows, stored);
    if (status?.state !== 'open') return null;
    const { subscriberId, expiresAt } = status.confirmation;
    return {
      confirmationId,
      subscriberId,
      ...status.subscriber,
      topics: topicsOf(status, isUnconfirmed),
      expiresAt,
    };
  }

  /** Reads what the link's page shows, and `beside` in the same message. Changes nothing. */
  describe<Row>(
    scope: ProjectScope,
    confirmationId: string,
    beside: RawBuilder<Row>,
  ): Promise<readonly [ConfirmationDescription, readonly Row[]]> {
    return this.database.transaction(scope, async () => {
      const reading = this.#reading(scope, confirmationId);
      const [rows, stored, read] = await this.database.together(...reading, beside);
      return [descriptionOf(this.#statusOf(rows, stored)), read] as const;
    });
  }

  /** Runs `work` with the current state of a request, with its subscriber locked, and what `beside` read in the same message. */
  whileLocked<Rows extends readonly unknown[], T>(
    scope: ProjectScope,
    confirmationId: string,
    beside: Statements<Rows>,
    work: (request: LockedRequest, ...beside: RowsOf<Rows>) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(scope, async () => {
      const { environmentId } = scope;
      const lock = sql`${named('lock_confirming')}
        select b.id from audience.subscribers b
        where b.environment_id = ${environmentId} and b.id = ${subscriberOf(scope, confirmationId)} for update`;
      // Read behind the lock, so as its holder before has left it.
      const reading = this.#reading(scope, confirmationId);
      const [, rows, stored, ...others] = await this.database.together<
        [unknown, RequestRow, StoredConsent, ...unknown[]]
      >(lock, ...reading, ...beside);
      const status = this.#statusOf(rows, stored);
      return work(
        { status, description: descriptionOf(status) },
        ...(others as readonly unknown[] as RowsOf<Rows>),
      );
    });
  }

  /** Confirms the pending topics. */
  async confirm(
    scope: ProjectScope,
    { status }: LockedRequest,
    by: ConfirmingPerson,
  ): Promise<'confirmed' | 'already-confirmed' | 'expired' | 'gone'> {
    if (status === null || status.state === 'gone') return 'gone';
    if (status.state === 'expired') return 'expired';
    const { confirmation, consents, stored } = status;
    const subscriberIds = [confirmation.subscriberId];
    const topicIds = consents.map(({ topicId }) => topicId);
    const proof = consentProof('SUBSCRIBER_PAGE', confirmation.confirmationId, by);
    const order = { subscriberIds, action: 'confirm', topicIds } as const;
    const outcomes = await this.consents.change(scope, order, proof, { stored });
    return outcomes.some(({ isDone }) => isDone) ? 'confirmed' : 'already-confirmed';
  }

  /** Replaces an expired mail by a new one for the topics neither confirmed nor revoked since, within the limits of a resend. */
  async requestAnother(
    scope: ProjectScope,
    { status }: LockedRequest,
  ): Promise<'sent' | 'too-soon' | 'not-needed'> {
    if (status?.state !== 'open' && status?.state !== 'expired') return 'not-needed';
    const { confirmationId, subscriberId } = status.confirmation;
    const proof = consentProof('SUBSCRIBER_PAGE', confirmationId);
    const topicIds = status.consents.filter(isUnconfirmed).map(({ topicId }) => topicId);
    try {
      return (await this.#askAgain(scope, subscriberId, topicIds, proof)) ? 'sent' : 'not-needed';
    } catch (error) {
      if (error instanceof ResendTooSoonError) return 'too-soon';
      throw error;
    }
  }

  /**
   * Sends the confirmation mail of one consent again, for a client. Throws NotFoundError, InvalidStateError unless pending,
   * SuppressedError, ResendTooSoonError.
   */
  async resend(
    scope: ProjectScope,
    ref: SubscriberRef,
    topicKey: string,
    proof: ConsentProof,
  ): Promise<void> {
    await this.subscribers.whileLocked(scope, ref, async ({ id: subscriberId, key }) => {
      const { id: topicId } = await this.topics.existing(scope, topicKey);
      await this.#refuseUnlessPending(scope, subscriberId, topicId);
      await this.suppressions.refuseSuppressed(scope, key);
      await this.#askAgain(scope, subscriberId, [topicId], proof);
    });
  }

  /**
   * Sets consents that were not confirmed in time to EXPIRED, in all projects. Skips subscribers whose consents are being changed;
   * the next run takes them.
   */
  @Periodic('expire-confirmations', { everyMs: 60_000 })
  async expire(): Promise<void> {
    const expired = sql`audience.consents c
      where c.status = 'PENDING_CONFIRMATION' and c.token_expires_at <= ${this.clock.now()}`;
    await drainEnvironments(this.database, { rows: expired, batch: CHUNK }, (environmentId, most) =>
      this.#expire(environmentId, expired, most),
    );
  }

  /** Returns the number of subscribers whose consents expired. */
  async #expire(environmentId: number, expired: RawBuilder<unknown>, most: number): Promise<number> {
    const { rows } = await sql<{ id: string }>`
      select b.id from audience.subscribers b
      where b.environment_id = ${environmentId} and b.id in (
        select c.subscriber_id from ${expired} and c.environment_id = ${environmentId}
      )
      limit ${most} for update skip locked
    `.execute(this.database.tables());
    await this.consents.expire(
      { environmentId },
      rows.map(({ id }) => id),
    );
    return rows.length;
  }

  async #refuseUnlessPending(scope: ProjectScope, subscriberId: string, topicId: string): Promise<void> {
    const consents = await this.consents.ofSubscriber(scope, subscriberId);
    const consent = consents.find((one) => one.topicId === topicId);
    if (consent === undefined) throw new NotFoundError();
    const status = statusAt(consent, this.clock.now());
    if (status === 'PENDING_CONFIRMATION') return;
    const why =
      status === 'SUBSCRIBED'
        ? 'The consent is SUBSCRIBED already: there is nothing to confirm.'
        : 'Only a pending consent waits for a confirmation mail.';
    throw new InvalidStateError(why, status, ['PENDING_CONFIRMATION']);
  }

  /** Sends another mail for the unconfirmed consents; false when there are none. Throws ResendTooSoonError. */
  async #askAgain(
    scope: ProjectScope,
    subscriberId: string,
    topicIds: readonly string[],
    proof: ConsentProof,
  ): Promise<boolean> {
    const now = this.clock.now();
    const repeats = await this.#repeatsOf(scope, subscriberId, now);
    const waits = topicIds.map((topicId) => secondsUntilRepeat(repeats.get(topicId) ?? [], now));
    const seconds = Math.max(0, ...waits);
    if (seconds > 0) throw new ResendTooSoonError(seconds);
    const order = { subscriberIds: [subscriberId], action: 'askAgain', topicIds } as const;
    return (await this.consents.change(scope, order, proof)).some(({ isDone }) => isDone);
  }

  /** The times of repeats in the last 24 h, by topic id. */
  async #repeatsOf(
    scope: ProjectScope,
    subscriberId: string,
    now: Date,
  ): Promise<ReadonlyMap<string, readonly Date[]>> {
    const { rows } = await sql<{ topicId: string; times: Date[] }>`
      select t.id as topic_id, array_agg(f.created_at) as times
      from audience.confirmations f cross join unnest(f.topic_ids) as t(id)
      where f.environment_id = ${scope.environmentId} and f.subscriber_id = ${subscriberId}
        and f.is_repeat and f.created_at > ${repeatsCountSince(now)}
      group by t.id
    `.execute(this.database.tables());
    return new Map(rows.map(({ topicId, times }) => [topicId, times]));
  }

  /** Statements that read a request, and the consents of its subscriber. */
  #reading(
    scope: ProjectScope,
    confirmationId: string,
  ): readonly [RawBuilder<RequestRow>, RawBuilder<StoredConsent>] {
    const { environmentId } = scope;
    const request = sql<RequestRow>`${named('confirmation_request')}
      select f.id as confirmation_id, f.subscriber_id, f.topic_ids, f.created_at, f.expires_at,
        b.email, b.email_key, b.first_name, b.locale, b.time_zone, s.email_key as suppressed_key,
        ${namedTopics(scope, sql`f.topic_ids`)} as topics
      from audience.confirmations f
      join audience.subscribers b on b.environment_id = f.environment_id and b.id = f.subscriber_id
      left join audience.suppressions s on s.environment_id = b.environment_id and s.email_key = b.email_key
      where f.environment_id = ${environmentId} and f.id = ${uuidOrNull(confirmationId)}`;
    return [request, this.consents.reading(scope, sql`array(${subscriberOf(scope, confirmationId)})`)];
  }

  /** The request as it is now: `gone` when its address is suppressed, null when there is no such request. */
  #statusOf([row]: readonly RequestRow[], stored: readonly StoredConsent[]): ConfirmationStatus | null {
    if (row === undefined) return null;
    const { email, emailKey, firstName, locale, timeZone, suppressedKey, topics, ...confirmation } = row;
    const consents = coveredBy(confirmation, stored);
    const now = this.clock.now();
    const state = suppressedKey === null ? confirmationState(confirmation, consents, now) : 'gone';
    const subscriber = { email, emailKey, firstName, locale, timeZone };
    return { confirmation, subscriber, state, consents, stored, topics };
  }
}

const uuidOrNull = (id: string): string | null => (isUuid(id) ? id : null);

/** Subselect of the id of a request's subscriber. */
const subscriberOf = ({ environmentId }: ProjectScope, confirmationId: string) => sql`(
  select f.subscriber_id from audience.confirmations f
  where f.environment_id = ${environmentId} and f.id = ${uuidOrNull(confirmationId)}
)`;

function descriptionOf(status: ConfirmationStatus | null): ConfirmationDescription {
  if (status === null || status.state === 'gone')
    return { state: 'gone', email: '', locale: null, topics: [] };
  const { state, subscriber } = status;
  const isShown = (consent: Consent) =>
    state === 'confirmed' ? consent.status === 'SUBSCRIBED' : isUnconfirmed(consent);
  return { state, email: subscriber.email, locale: subscriber.locale, topics: topicsOf(status, isShown) };
}

/** The topics of consents, in alphabetical order. */
function topicsOf(
  { consents, topics }: ConfirmationStatus,
  isWanted: (consent: Consent) => boolean,
): ConfirmationMail['topics'] {
  const wanted = new Set(consents.filter(isWanted).map(({ topicId }) => topicId));
  return topics
    .filter(({ id }) => wanted.has(id))
    .map(({ topicKey, name, description, translations, optInTemplateKey }) => ({
      topicKey,
      name,
      description,
      translations,
      optInTemplateKey,
    }))
    .sort((a, b) => a.name.localeCompare(b.name, 'en'));
}
