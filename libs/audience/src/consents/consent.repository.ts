import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database, environmentOf, prepared } from '#platform';
import { AudienceAnnouncements } from '../announcements/audience-announcements.service.js';
import { Consent, type ConsentState } from './consent.js';
import { consentProof, type ConsentProof } from './consent-proof.js';
import { record } from './ledger.repository.js';

/** A subscriber's consents by topic id; one that was never given is there on asking for it. */
export class SubscriberConsents {
  readonly #byTopic: Map<string, Consent>;

  constructor(consents: readonly Consent[] = []) {
    this.#byTopic = new Map(consents.map((consent) => [consent.topicId, consent]));
  }

  to(topicId: string): Consent {
    return this.#byTopic.get(topicId) ?? new Consent(topicId, null);
  }

  get all(): readonly Consent[] {
    return [...this.#byTopic.values()];
  }
}

/** Loads and saves consents. Whoever changes them holds the lock of the subscriber's row. */
@Injectable()
export class ConsentRepository {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(AudienceAnnouncements) private readonly announcements: AudienceAnnouncements,
  ) {}

  ofSubscriber(scope: ProjectScope, subscriberId: string): Promise<SubscriberConsents> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<ConsentState & { topicId: string }>`${prepared}
        select topic_id as "topicId", status, granted_at as "grantedAt", confirmed_at as "confirmedAt",
          revoked_at as "revokedAt", token_expires_at as "tokenExpiresAt", subscribed_at as "subscribedAt"
        from audience.consents
        where environment_id = ${environmentOf(scope)} and subscriber_id = ${subscriberId}
      `.execute(db);
      return new SubscriberConsents(rows.map(({ topicId, ...state }) => new Consent(topicId, state)));
    });
  }

  /** Writes the consents as they stand, and their changes into the consent record. */
  save(
    scope: ProjectScope,
    subscriberId: string,
    consents: readonly Consent[],
    proof: ConsentProof,
    at: Date,
  ): Promise<void> {
    const given = consents.flatMap(({ topicId, state }) => (state === null ? [] : [{ topicId, ...state }]));
    if (given.length === 0) return Promise.resolve();
    const column = (field: keyof ConsentState) => given.map((consent) => consent[field]);
    return this.database.transaction(scope, async ({ db }) => {
      await sql`${prepared}
        insert into audience.consents (subscriber_id, environment_id, topic_id, status, granted_at, confirmed_at, revoked_at,
          token_expires_at, subscribed_at)
        select ${subscriberId}::uuid, ${scope.environmentId}::bigint, c.*
        from unnest(${given.map(({ topicId }) => topicId)}::uuid[], ${column('status')}::text[],
          ${column('grantedAt')}::timestamptz[], ${column('confirmedAt')}::timestamptz[], ${column('revokedAt')}::timestamptz[],
          ${column('tokenExpiresAt')}::timestamptz[], ${column('subscribedAt')}::timestamptz[]) c
        on conflict (subscriber_id, topic_id) do update set status = excluded.status, granted_at = excluded.granted_at,
          confirmed_at = excluded.confirmed_at, revoked_at = excluded.revoked_at,
          token_expires_at = excluded.token_expires_at, subscribed_at = excluded.subscribed_at
      `.execute(db);
      const entries = consents.flatMap(({ topicId, changes }) =>
        changes.map((change) => ({ environmentId: scope.environmentId, subscriberId, topicId, ...change })),
      );
      // What ran out before somebody acted is not that person's doing.
      await record(
        db,
        entries.filter(({ to }) => to === 'EXPIRED'),
        consentProof('EXPIRY', null),
        at,
      );
      await record(
        db,
        entries.filter(({ to }) => to !== 'EXPIRED'),
        proof,
        at,
      );
      await this.announcements.consents(scope, subscriberId, consents);
    });
  }
}
