import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  Clock,
  type EmailAddress,
  InvalidStateError,
  isUuid,
  NotFoundError,
  type ProjectScope,
} from '#kernel';
import { Database, drainEnvironments, named, Periodic } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import {
  type Consent,
  consentProof,
  type ConsentProof,
  type ConsentWording,
  isUnconfirmed,
  statusAt,
} from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import { TopicRepository } from '../topics/topic.repository.js';
import type { TopicTexts } from '../topics/topic.js';
import { TopicsQuery } from '../topics/topics.query.js';
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
  readonly topics: readonly TopicTexts[];
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
    private readonly topicTexts: TopicsQuery,
    private readonly consents: ConsentRepository,
    private readonly clock: Clock,
  ) {}

  /** The mail of a request; null when it was used, has expired, covers nothing pending, or the address is suppressed. */
  async forMail(scope: ProjectScope, confirmationId: string): Promise<ConfirmationMail | null> {
    const status = await this.#status(scope, confirmationId);
    if (status?.state !== 'open') return null;
    const { confirmation, subscriber, consents } = status;
    const { subscriberId, expiresAt } = confirmation;
    const topics = await this.#textsOf(scope, consents.filter(isUnconfirmed));
    return { confirmationId, subscriberId, ...subscriber, topics, expiresAt };
  }

  /** Reads what the link's page shows. Changes nothing. */
  describe(scope: ProjectScope, confirmationId: string): Promise<ConfirmationDescription> {
    return this.database.transaction(scope, async () => {
      const status = await this.#status(scope, confirmationId);
      if (status === null || status.state === 'gone')
        return { state: 'gone', email: '', locale: null, topics: [] };
      const { state, subscriber, consents } = status;
      const shown = consents.filter((consent) =>
        state === 'confirmed' ? consent.status === 'SUBSCRIBED' : isUnconfirmed(consent),
      );
      const { email, locale } = subscriber;
      return { state, email, locale, topics: await this.#textsOf(scope, shown) };
    });
  }

  /** Confirms the pending topics. */
  confirm(
    scope: ProjectScope,
    confirmationId: string,
    by: ConfirmingPerson,
  ): Promise<'confirmed' | 'already-confirmed' | 'expired' | 'gone'> {
    return this.#whileLocked(scope, confirmationId, async (status) => {
      if (status === null || status.state === 'gone') return 'gone';
      if (status.state === 'expired') return 'expired';
      const subscriberIds = [status.confirmation.subscriberId];
      const topicIds = status.consents.map(({ topicId }) => topicId);
      const proof = consentProof('SUBSCRIBER_PAGE', confirmationId, by);
      const outcomes = await this.consents.change(
        scope,
        { subscriberIds, action: 'confirm', topicIds },
        proof,
      );
      return outcomes.some(({ isDone }) => isDone) ? 'confirmed' : 'already-confirmed';
    });
  }

  /** Replaces an expired mail by a new one for the topics neither confirmed nor revoked since, within the limits of a resend. */
  async requestAnother(
    scope: ProjectScope,
    confirmationId: string,
  ): Promise<'sent' | 'too-soon' | 'not-needed'> {
    try {
      return await this.#whileLocked(scope, confirmationId, async (status) => {
        if (status?.state !== 'open' && status?.state !== 'expired') return 'not-needed';
        const proof = consentProof('SUBSCRIBER_PAGE', confirmationId);
        const topicIds = status.consents.filter(isUnconfirmed).map(({ topicId }) => topicId);
        const isSent = await this.#askAgain(scope, status.confirmation.subscriberId, topicIds, proof);
        return isSent ? 'sent' : 'not-needed';
      });
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
    address: EmailAddress,
    topicKey: string,
    proof: ConsentProof,
  ): Promise<void> {
    await this.subscribers.whileLocked(scope, address.key, async (subscriberId) => {
      const { id: topicId } = await this.topics.existing(scope, topicKey);
      await this.#refuseUnlessPending(scope, subscriberId, topicId);
      await this.suppressions.refuseSuppressed(scope, address.key);
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

  /** Runs `work` with the current state of a request, with its subscriber locked. */
  #whileLocked<T>(
    scope: ProjectScope,
    confirmationId: string,
    work: (status: ConfirmationStatus | null) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(scope, async () => {
      const request = await this.#find(scope, confirmationId);
      if (request === undefined) return work(null);
      return this.subscribers.whileLockedById(scope, request.subscriberId, async () =>
        work(await this.#status(scope, confirmationId)),
      );
    });
  }

  /** The request as it is now: `gone` when its address is suppressed, null when there is no such request. */
  #status(scope: ProjectScope, confirmationId: string): Promise<ConfirmationStatus | null> {
    return this.database.transaction(scope, async () => {
      const row = await this.#find(scope, confirmationId);
      if (row === undefined) return null;
      const { email, emailKey, firstName, locale, timeZone, suppressedKey, ...confirmation } = row;
      const all = await this.consents.ofSubscriber(scope, confirmation.subscriberId);
      const consents = coveredBy(confirmation, all);
      const now = this.clock.now();
      const state = suppressedKey === null ? confirmationState(confirmation, consents, now) : 'gone';
      return { confirmation, subscriber: { email, emailKey, firstName, locale, timeZone }, state, consents };
    });
  }

  async #find(scope: ProjectScope, confirmationId: string) {
    if (!isUuid(confirmationId)) return undefined;
    return this.database
      .tables<AudienceTables>()
      .selectFrom('audience.confirmations as f')
      .modifyFront(named('confirmation_request'))
      .innerJoin('audience.subscribers as b', (join) =>
        join.onRef('b.environmentId', '=', 'f.environmentId').onRef('b.id', '=', 'f.subscriberId'),
      )
      .leftJoin('audience.suppressions as s', (join) =>
        join.onRef('s.environmentId', '=', 'b.environmentId').onRef('s.emailKey', '=', 'b.emailKey'),
      )
      .select(['f.id as confirmationId', 'f.subscriberId', 'f.topicIds', 'f.createdAt', 'f.expiresAt'])
      .select([
        'b.email',
        'b.emailKey',
        'b.firstName',
        'b.locale',
        'b.timeZone',
        's.emailKey as suppressedKey',
      ])
      .where('f.environmentId', '=', scope.environmentId)
      .where('f.id', '=', confirmationId)
      .executeTakeFirst();
  }

  /** The texts of the topics of consents, in alphabetical order. */
  async #textsOf(scope: ProjectScope, consents: readonly Consent[]): Promise<readonly TopicTexts[]> {
    const topicIds = consents.map(({ topicId }) => topicId);
    const topics = await this.topicTexts.named(scope, topicIds);
    return topics
      .map(({ name, description, translations }) => ({ name, description, translations }))
      .sort((a, b) => a.name.localeCompare(b.name, 'en'));
  }
}
