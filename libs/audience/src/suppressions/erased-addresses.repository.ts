import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { before, Database, Periodic, removeOldRows } from '#platform';
import type { ChangeContext, Consent } from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { AddressDigestsService } from './address-digests.service.js';

const DAY_MS = 24 * 60 * 60_000;
/** The time for which an address that left a topic stays off it after its erasure. */
const LEFT_TOPICS_KEPT_MS = 365 * DAY_MS;
/** The days for which unsubscribe links in mails of an erased subscriber find who has the address now. */
export const ERASED_MAILS_KEPT_DAYS = 60;

/** Source of the ledger's entries for consents that a new subscriber's address had revoked before its erasure. */
const LEFT_BEFORE = 'unsubscribed-before-erasure';

/**
 * Addresses of erased subscribers, by their keyed digest: an unsubscription stays one, and links in older mails go on working.
 * Callers that write hold the lock of the address.
 */
@Injectable()
export class ErasedAddressesRepository {
  constructor(
    private readonly database: Database,
    private readonly digests: AddressDigestsService,
    private readonly consents: ConsentRepository,
    private readonly clock: Clock,
  ) {}

  /** Keeps an address that is being erased with its revoked consents, in the open transaction. */
  async keep(scope: ProjectScope, emailKey: string, consents: readonly Consent[], at: Date): Promise<void> {
    const left = consents
      .filter(({ status }) => status === 'UNSUBSCRIBED')
      .map(({ topicId, revokedAt }) => [topicId, (revokedAt ?? at).toISOString()] as const);
    const leftTopics = JSON.stringify(Object.fromEntries(left));
    await sql`
      insert into audience.erased_addresses (environment_id, address_digest, left_topics, erased_at)
      values (${scope.environmentId}, ${this.digests.of(scope, emailKey)}, ${leftTopics}::jsonb, ${at})
      on conflict (environment_id, address_digest) do update
        set left_topics = excluded.left_topics, subscriber_id = null, erased_at = excluded.erased_at
    `.execute(this.database.tables());
  }

  /** SQL: one address is among them. */
  isAddressErased(scope: ProjectScope, emailKey: string): RawBuilder<boolean> {
    return sql<boolean>`exists (
      select 1 from audience.erased_addresses e
      where e.environment_id = ${scope.environmentId} and e.address_digest = ${this.digests.of(scope, emailKey)}
    )`;
  }

  /** SQL: the address of a column of address keys is among them. */
  isErased(scope: ProjectScope, emailKey: RawBuilder<unknown>): RawBuilder<boolean> {
    return sql<boolean>`(
      -- once for all rows: without any, no address is digested
      exists (select 1 from audience.erased_addresses e where e.environment_id = ${scope.environmentId})
      and exists (
        select 1 from audience.erased_addresses e
        where e.environment_id = ${scope.environmentId} and e.address_digest = ${this.digests.ofColumn(scope, emailKey)}
      )
    )`;
  }

  /**
   * The erased ones of these addresses, by key, each with the topics that it left: these are not granted unless the person asks
   * for them. In the open transaction.
   */
  async among(
    scope: ProjectScope,
    emailKeys: readonly string[],
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const { rows } = await sql<{ key: string; topicIds: string[] }>`
      select e.key, e.topic_ids from (
        select k.key, (
          select array(select jsonb_object_keys(case when ${this.#isHeld(sql`a`)} then a.left_topics else '{}' end))
          from audience.erased_addresses a
          where a.environment_id = ${scope.environmentId} and a.address_digest = ${this.digests.ofColumn(scope, sql`k.key`)}
        ) as topic_ids
        from unnest(${[...emailKeys]}::text[]) k(key)
        where exists (select 1 from audience.erased_addresses e where e.environment_id = ${scope.environmentId})
      ) e
      where e.topic_ids is not null
    `.execute(this.database.tables());
    return new Map(rows.map(({ key, topicIds }) => [key, new Set(topicIds)]));
  }

  /**
   * Gives the new subscribers of erased addresses the revoked consents that these had, except where they have just consented
   * anew, and lets the links in older mails find them. In the open transaction.
   */
  async restore(
    scope: ProjectScope,
    emailKeys: readonly string[],
    { at, proof }: ChangeContext,
  ): Promise<void> {
    if (emailKeys.length === 0) return;
    const { environmentId } = scope;
    const context = { at, proof: { ...proof, source: LEFT_BEFORE } };
    const revoked = sql`
      select o.subscriber_id, t.id as topic_id, l.left_at::timestamptz as revoked_at
      from owned o cross join lateral jsonb_each_text(o.left_topics) l(topic_id, left_at)
      join audience.topics t on t.environment_id = ${environmentId} and t.id = l.topic_id::uuid and t.deleted_at is null
      where not exists (
        select 1 from audience.consents c
        where c.environment_id = ${environmentId} and c.subscriber_id = o.subscriber_id and c.topic_id = t.id
      )`;
    const finding = sql`
      with owned as materialized (
        select e.address_digest, case when ${this.#isHeld(sql`e`)} then e.left_topics else '{}' end as left_topics, (
            select b.id from audience.subscribers b where b.environment_id = ${environmentId} and b.email_key = p.key collate "C"
          ) as subscriber_id
        from unnest(${[...emailKeys]}::text[], ${emailKeys.map((key) => this.digests.of(scope, key))}::bytea[]) as p(key, digest)
        join audience.erased_addresses e on e.environment_id = ${environmentId} and e.address_digest = p.digest
      ), found as (
        update audience.erased_addresses e set subscriber_id = o.subscriber_id, left_topics = '{}' from owned o
        where e.environment_id = ${environmentId} and e.address_digest = o.address_digest
      )`;
    await this.consents.insertRevoked(scope, finding, revoked, context);
  }

  /** The digest by which an address is kept. */
  digestOf(scope: ProjectScope, emailKey: string): Buffer {
    return this.digests.of(scope, emailKey);
  }

  /** The subscriber who has the address of this digest now; null: nobody, or it is not among them. */
  ownerOf(scope: ProjectScope, addressDigest: Buffer): Promise<string | null> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ id: string }>`
        select b.id from audience.erased_addresses e
        join audience.subscribers b on b.environment_id = e.environment_id and b.id = e.subscriber_id
        where e.environment_id = ${scope.environmentId} and e.address_digest = ${addressDigest}
      `.execute(this.database.tables());
      return rows[0]?.id ?? null;
    });
  }

  /** Removes addresses that no link in a mail needs any more, and what they left holds no more. */
  @Periodic('remove-erased-addresses', { everyMs: 60 * 60_000 })
  removeOld(): Promise<void> {
    const now = this.clock.now();
    const isPast = sql`erased_at <= ${before(now, LEFT_TOPICS_KEPT_MS)}`;
    const isEmpty = sql`erased_at <= ${before(now, ERASED_MAILS_KEPT_DAYS * DAY_MS)} and left_topics = '{}'`;
    return removeOldRows(this.database, {
      table: 'audience.erased_addresses',
      where: sql`(${isPast} or ${isEmpty})`,
    });
  }

  /** SQL: the topics that the address left still count. */
  #isHeld(row: RawBuilder<unknown>): RawBuilder<boolean> {
    return sql<boolean>`(${row}.erased_at > ${before(this.clock.now(), LEFT_TOPICS_KEPT_MS)})`;
  }
}
