import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, isUuid, type ProjectScope } from '#kernel';
import { Database, environmentOf } from '#platform';
import { type Consent, isUnconfirmed } from '../consents/consent.js';
import { ConsentWriter } from '../consents/consent-writer.repository.js';
import { TopicsQuery } from '../topics/topics.query.js';
import { type Confirmation, confirmationState, type ConfirmationState, coveredBy } from './confirmation.js';

/** What a confirmation mail says, and to whom. */
export interface ConfirmationMail {
  readonly confirmationId: string;
  readonly subscriberId: string;
  /** As it was given. */
  readonly email: string;
  readonly emailKey: string;
  readonly firstName: string | null;
  readonly topicNames: string[];
  readonly expiresAt: Date;
}

/** A request to confirm as it stands now. */
export interface ConfirmationStanding {
  readonly confirmation: Confirmation;
  readonly subscriber: {
    readonly email: string;
    readonly emailKey: string;
    readonly firstName: string | null;
  };
  readonly state: ConfirmationState;
  /** The consents that it is about. */
  readonly consents: readonly Consent[];
}

type Row = Confirmation & ConfirmationStanding['subscriber'] & { readonly suppressed: boolean };

/** Reads requests to confirm. */
@Injectable()
export class ConfirmationsQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ConsentWriter) private readonly consents: ConsentWriter,
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** What to send for a request; null when it is used, expired, nothing is pending any more, or the address is suppressed. */
  async forMail(scope: ProjectScope, confirmationId: string): Promise<ConfirmationMail | null> {
    const standing = await this.standing(scope, confirmationId);
    if (standing?.state !== 'open') return null;
    const { confirmation, subscriber, consents } = standing;
    const { subscriberId, expiresAt } = confirmation;
    const topicNames = await this.topicNames(scope, consents.filter(isUnconfirmed));
    return { confirmationId, subscriberId, ...subscriber, topicNames, expiresAt };
  }

  /** null when there is no such request; that of a suppressed address is gone. */
  standing(scope: ProjectScope, confirmationId: string): Promise<ConfirmationStanding | null> {
    return this.database.transaction(scope, async () => {
      const row = await this.#find(scope, confirmationId);
      if (row === null) return null;
      const { email, emailKey, firstName, suppressed, ...confirmation } = row;
      const all = await this.consents.ofSubscriber(scope, confirmation.subscriberId);
      const consents = coveredBy(confirmation, all);
      const state = suppressed ? 'gone' : confirmationState(confirmation, consents, this.clock.now());
      return { confirmation, subscriber: { email, emailKey, firstName }, state, consents };
    });
  }

  /** The names of the consents' topics, in alphabetical order. */
  async topicNames(scope: ProjectScope, consents: readonly Consent[]): Promise<string[]> {
    const topics = await this.topics.named(
      scope,
      consents.map(({ topicId }) => topicId),
    );
    return topics.map(({ name }) => name).sort((a, b) => a.localeCompare(b, 'en'));
  }

  async #find(scope: ProjectScope, confirmationId: string): Promise<Row | null> {
    if (!isUuid(confirmationId)) return null;
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Row>`
        select f.id as "confirmationId", f.subscriber_id as "subscriberId", f.topic_ids as "topicIds",
          f.created_at as "createdAt", f.expires_at as "expiresAt", b.email, b.email_key as "emailKey",
          b.first_name as "firstName", s.email_key is not null as suppressed
        from audience.confirmations f
        join audience.subscribers b on b.id = f.subscriber_id
        left join audience.suppressions s on s.environment_id = b.environment_id and s.email_key = b.email_key
        where f.environment_id = ${environmentOf(scope)} and f.id = ${confirmationId}
      `.execute(db);
      return rows[0] ?? null;
    });
  }
}
