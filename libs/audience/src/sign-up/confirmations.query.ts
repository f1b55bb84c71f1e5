import { Injectable } from '@nestjs/common';
import { Clock, isUuid, type ProjectScope } from '#kernel';
import { Database, environmentOf } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import { type Consent, isUnconfirmed } from '../consents/consent.js';
import { ConsentWriter } from '../consents/consent-writer.repository.js';
import type { TopicTexts } from '../topics/topic-texts.js';
import { TopicsQuery } from '../topics/topics.query.js';
import { type Confirmation, confirmationState, type ConfirmationState, coveredBy } from './confirmation.js';

/** The recipient and content of a confirmation mail. */
export interface ConfirmationMail {
  readonly confirmationId: string;
  readonly subscriberId: string;
  /** As it was given. */
  readonly email: string;
  readonly emailKey: string;
  readonly firstName: string | null;
  /** BCP 47; null where it is not known. */
  readonly locale: string | null;
  /** IANA; null where it is not known. */
  readonly timeZone: string | null;
  readonly topics: readonly TopicTexts[];
  readonly expiresAt: Date;
}

/** A confirmation request in its current state. */
export interface ConfirmationStanding {
  readonly confirmation: Confirmation;
  readonly subscriber: {
    readonly email: string;
    readonly emailKey: string;
    readonly firstName: string | null;
    readonly locale: string | null;
    readonly timeZone: string | null;
  };
  readonly state: ConfirmationState;
  /** The consents that it covers. */
  readonly consents: readonly Consent[];
}

type Row = Confirmation & ConfirmationStanding['subscriber'] & { readonly suppressedKey: string | null };

/** Reads confirmation requests. */
@Injectable()
export class ConfirmationsQuery {
  constructor(
    private readonly database: Database,
    private readonly consents: ConsentWriter,
    private readonly topics: TopicsQuery,
    private readonly clock: Clock,
  ) {}

  /** The mail of a request; null when it was used, has expired, covers nothing pending, or the address is suppressed. */
  async forMail(scope: ProjectScope, confirmationId: string): Promise<ConfirmationMail | null> {
    const standing = await this.standing(scope, confirmationId);
    if (standing?.state !== 'open') return null;
    const { confirmation, subscriber, consents } = standing;
    const { subscriberId, expiresAt } = confirmation;
    const topics = await this.topicsOf(scope, consents.filter(isUnconfirmed));
    return { confirmationId, subscriberId, ...subscriber, topics, expiresAt };
  }

  /** null when there is no such request, or its address is suppressed. */
  standing(scope: ProjectScope, confirmationId: string): Promise<ConfirmationStanding | null> {
    return this.database.transaction(scope, async () => {
      const row = await this.#find(scope, confirmationId);
      if (row === null) return null;
      const { email, emailKey, firstName, locale, timeZone, suppressedKey, ...confirmation } = row;
      const all = await this.consents.ofSubscriber(scope, confirmation.subscriberId);
      const consents = coveredBy(confirmation, all);
      const now = this.clock.now();
      const state = suppressedKey === null ? confirmationState(confirmation, consents, now) : 'gone';
      const subscriber = { email, emailKey, firstName, locale, timeZone };
      return { confirmation, subscriber, state, consents };
    });
  }

  /** What the topics of consents are called, in alphabetical order. */
  async topicsOf(scope: ProjectScope, consents: readonly Consent[]): Promise<readonly TopicTexts[]> {
    const topics = await this.topics.named(
      scope,
      consents.map(({ topicId }) => topicId),
    );
    return topics
      .map(({ name, description, translations }) => ({ name, description, translations }))
      .sort((a, b) => a.name.localeCompare(b.name, 'en'));
  }

  async #find(scope: ProjectScope, confirmationId: string): Promise<Row | null> {
    if (!isUuid(confirmationId)) return null;
    const row = await this.database
      .tables<AudienceTables>()
      .selectFrom('audience.confirmations as f')
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
      .where('f.environmentId', '=', environmentOf(scope))
      .where('f.id', '=', confirmationId)
      .executeTakeFirst();
    return row ?? null;
  }
}
