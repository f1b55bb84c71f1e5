import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { EmailAddress, ProjectScope } from '#kernel';
import { Database, named, neverJoined } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import { AddressDigestsService } from './address-digests.service.js';
import type { SuppressionReason } from '../consents/consent.js';
import { type StoredSuppression, SuppressedError, type SuppressionDetails } from './suppression.js';

/** The suppression list of a project. It has erased addresses by their keyed digest. */
@Injectable()
export class SuppressionRepository {
  constructor(
    private readonly database: Database,
    private readonly digests: AddressDigestsService,
  ) {}

  find(scope: ProjectScope, emailKey: string): Promise<StoredSuppression | null> {
    const digest = this.digests.of(scope, emailKey);
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<StoredSuppression>`${named('suppression_of_address')}
        select email, reason, suppressed_at from audience.suppressions
        where environment_id = ${scope.environmentId} and email_key = ${emailKey}
        union all
        select null, reason, suppressed_at from audience.erased_suppressions
        where environment_id = ${scope.environmentId} and address_digest = ${digest}
      `.execute(this.database.tables());
      return rows[0] ?? null;
    });
  }

  /** Throws SuppressedError. */
  async refuseSuppressed(scope: ProjectScope, emailKey: string): Promise<void> {
    if ((await this.find(scope, emailKey)) !== null) throw new SuppressedError();
  }

  /** SQL: one address is suppressed, erased or not. */
  isAddressSuppressed(scope: ProjectScope, emailKey: string): RawBuilder<boolean> {
    return sql<boolean>`(
      exists (
        select 1 from audience.suppressions s where s.environment_id = ${scope.environmentId} and s.email_key = ${emailKey}
      ) or exists (
        select 1 from audience.erased_suppressions s
        where s.environment_id = ${scope.environmentId} and s.address_digest = ${this.digests.of(scope, emailKey)}
      )
    )`;
  }

  /** SQL: the address of a column of address keys is suppressed, erased or not. */
  isSuppressed(scope: ProjectScope, emailKey: RawBuilder<unknown>): RawBuilder<boolean> {
    return sql<boolean>`(
      exists (
        select 1 from audience.suppressions s
        where s.environment_id = ${scope.environmentId} and s.email_key = ${emailKey}
      ) or (
        -- once for all rows: without any, no address is digested
        exists (select 1 from audience.erased_suppressions s where s.environment_id = ${scope.environmentId})
        and exists (
          select 1 from audience.erased_suppressions s
          where s.environment_id = ${scope.environmentId} and s.address_digest = ${this.digests.ofColumn(scope, emailKey)}
        )
      )
    )`;
  }

  /**
   * Adds addresses unless they are suppressed already. Returns the suppression of each that holds, and if it is new. Callers hold
   * the locks of the addresses.
   */
  async addAll(
    scope: ProjectScope,
    addresses: readonly Pick<EmailAddress, 'value' | 'key'>[],
    reason: SuppressionReason,
    now: Date,
  ): Promise<readonly { readonly suppression: SuppressionDetails; readonly isNew: boolean }[]> {
    const environment = sql`${scope.environmentId}::bigint`;
    const keys = addresses.map(({ key }) => key);
    const digests = keys.map((key) => this.digests.of(scope, key).toString('hex'));
    const { rows } = await sql<
      SuppressionDetails & { readonly emailKey: string; readonly isNew: boolean }
    >`${named('add_suppressions')}
      with wanted as materialized (
        select k.email_key, k.email, decode(k.digest, 'hex') as digest
        from unnest(${keys}::text[], ${addresses.map(({ value }) => value)}::text[], ${digests}::text[]) as k(email_key, email, digest)
      ), stored as materialized (
        select s.email_key, s.email, s.reason, s.suppressed_at from audience.suppressions s
        where s.environment_id = ${environment} and s.email_key = any(${keys}::text[])
        union all
        select k.email_key, k.email, e.reason, e.suppressed_at from wanted k cross join lateral (
          select e.reason, e.suppressed_at from audience.erased_suppressions e
          where e.environment_id = ${environment} and e.address_digest = k.digest ${neverJoined}
        ) e
      ), added as (
        insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at)
        select ${environment}, k.email_key, k.email, ${reason}, ${now}::timestamptz from wanted k
        where k.email_key not in (select o.email_key from stored o)
        returning email_key, email, reason, suppressed_at
      )
      select email_key, email, reason, suppressed_at, true as is_new from added
      union all select email_key, email, reason, suppressed_at, false from stored
    `.execute(this.database.tables());
    const byKey = new Map(
      rows.toReversed().map(({ emailKey, isNew, ...suppression }) => [emailKey, { suppression, isNew }]),
    );
    return keys.map((key) => byKey.get(key)!);
  }

  /** False when there was none. */
  async remove(scope: ProjectScope, emailKey: string): Promise<boolean> {
    const tables = this.database.tables<AudienceTables>();
    const known = await tables
      .deleteFrom('audience.suppressions')
      .where('environmentId', '=', scope.environmentId)
      .where('emailKey', '=', emailKey)
      .executeTakeFirstOrThrow();
    const erased = await tables
      .deleteFrom('audience.erased_suppressions')
      .where('environmentId', '=', scope.environmentId)
      .where('addressDigest', '=', this.digests.of(scope, emailKey))
      .executeTakeFirstOrThrow();
    return known.numDeletedRows + erased.numDeletedRows > 0n;
  }

  /** Keeps the suppression, if there is one, by the digest of the address only. */
  async forgetAddress(scope: ProjectScope, emailKey: string, at: Date): Promise<void> {
    const digest = this.digests.of(scope, emailKey);
    await sql`
      with known as (
        delete from audience.suppressions
        where environment_id = ${scope.environmentId} and email_key = ${emailKey} returning reason, suppressed_at
      )
      insert into audience.erased_suppressions (environment_id, address_digest, reason, suppressed_at, erased_at)
      select ${scope.environmentId}, ${digest}, reason, suppressed_at, ${at}::timestamptz from known
      on conflict (environment_id, address_digest) do nothing
    `.execute(this.database.tables());
  }
}
