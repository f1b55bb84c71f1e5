import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock, isUuid, type ProjectScope } from '#kernel';
import { before, Database, named, Periodic, removeOldRows } from '#platform';
import type { Consent, ConsentProof, ConsentStatus } from './consent.js';

/** The time in which a reader may undo an unsubscription. */
const UNDO_VALID_MS = 24 * 60 * 60_000;

/** An unsubscription of a reader by a link of ours. */
export interface Unsubscription {
  readonly subscriberId: string;
  /** The delivery, or for preferences the subscriber, that the link is about. */
  readonly linkId: string;
  /** The consents that it took, as they were before. */
  readonly consents: readonly Consent[];
  /** When it put the address on the suppression list; null where it did not. */
  readonly suppressedAt: Date | null;
  /** When it revoked the consents; null where there were none. */
  readonly revokedAt: Date | null;
}

/** Unsubscriptions that can still be undone. Callers that write hold the lock of the subscriber's row. */
@Injectable()
export class UnsubscriptionRepository {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Statement that keeps what an unsubscription took; none when it took nothing. */
  adding(
    { environmentId }: ProjectScope,
    id: string,
    { subscriberId, linkId, consents, suppressedAt, revokedAt }: Unsubscription,
  ): readonly RawBuilder<unknown>[] {
    const happenedAt = revokedAt ?? suppressedAt;
    if (happenedAt === null) return [];
    const taken = JSON.stringify(consents.map(plain));
    return [
      sql`${named('note_unsubscription')}
        insert into audience.unsubscriptions (environment_id, id, subscriber_id, link_id, consents, revoked_at, suppressed_at,
          happened_at)
        values (${environmentId}, ${id}, ${subscriberId}, ${linkId}, ${taken}::jsonb, ${revokedAt}, ${suppressedAt}, ${happenedAt})`,
    ];
  }

  /** The latest of a subscriber by this link that can still be undone; null when there is none. */
  latest(scope: ProjectScope, subscriberId: string, linkId: string): Promise<string | null> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ id: string }>`${named('latest_unsubscription')}
        select id from audience.unsubscriptions
        where environment_id = ${scope.environmentId} and subscriber_id = ${subscriberId} and link_id = ${linkId}
          and happened_at > ${this.#validSince()}
        order by happened_at desc, id desc limit 1
      `.execute(this.database.tables());
      return rows[0]?.id ?? null;
    });
  }

  /** Takes one out, in the open transaction, so that it is undone once; null when it is none of this link, or too late. */
  async take(
    { environmentId }: ProjectScope,
    id: string,
    subscriberId: string,
    linkId: string,
  ): Promise<Unsubscription | null> {
    if (!isUuid(id)) return null;
    const { rows } = await sql<Unsubscription>`
      delete from audience.unsubscriptions
      where environment_id = ${environmentId} and id = ${id} and subscriber_id = ${subscriberId} and link_id = ${linkId}
        and happened_at > ${this.#validSince()}
      returning subscriber_id, link_id, consents, revoked_at, suppressed_at
    `.execute(this.database.tables());
    const [taken] = rows;
    return taken === undefined ? null : { ...taken, consents: taken.consents.map(plain) };
  }

  /** Topics with mail again since an undo of the same `proof`, unless they changed later; null where it undid none. */
  async undone(
    { environmentId }: ProjectScope,
    subscriberId: string,
    { actor, actorId, source }: ConsentProof,
  ): Promise<readonly string[] | null> {
    const { rows } = await sql<{ topicId: string; toStatus: ConsentStatus }>`${named('undone_topics')}
      select topic_id, to_status from (
        select distinct on (l.topic_id) l.topic_id, l.from_status, l.to_status, l.actor, l.actor_id, l.source
        from audience.consent_ledger l
        where l.environment_id = ${environmentId} and l.subscriber_id = ${subscriberId} and l.occurred_at > ${this.#validSince()}
        order by l.topic_id, l.position desc
      ) latest
      where actor = ${actor} and actor_id is not distinct from ${actorId} and source = ${source}
        and from_status = 'UNSUBSCRIBED' and to_status <> from_status
    `.execute(this.database.tables());
    if (rows.length === 0) return null;
    return rows.flatMap(({ topicId, toStatus }) => (toStatus === 'SUBSCRIBED' ? [topicId] : []));
  }

  /** Statement that lets subscribers undo nothing any more: it would lift what was added since. */
  closing({ environmentId }: ProjectScope, subscriberIds: readonly string[]): RawBuilder<unknown> {
    return sql`${named('close_unsubscriptions')}
      delete from audience.unsubscriptions
      where environment_id = ${environmentId} and subscriber_id = any(${[...subscriberIds]}::uuid[])`;
  }

  /** Removes unsubscriptions that cannot be undone any more. */
  @Periodic('remove-old-unsubscriptions', { everyMs: 10 * 60_000 })
  removeOld(): Promise<void> {
    const where = sql`happened_at <= ${this.#validSince()}`;
    return removeOldRows(this.database, { table: 'audience.unsubscriptions', where });
  }

  #validSince(): Date {
    return before(this.clock.now(), UNDO_VALID_MS);
  }
}

/** A consent and nothing else, with its times as dates: in JSON they are text. */
function plain(consent: Consent): Consent {
  const dateOf = (time: Date | null) => (time === null ? null : new Date(time));
  return {
    topicId: consent.topicId,
    status: consent.status,
    grantedAt: dateOf(consent.grantedAt),
    confirmedAt: dateOf(consent.confirmedAt),
    revokedAt: dateOf(consent.revokedAt),
    tokenExpiresAt: dateOf(consent.tokenExpiresAt),
    subscribedAt: dateOf(consent.subscribedAt),
  };
}
