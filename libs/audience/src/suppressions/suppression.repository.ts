import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { EmailAddress, ProjectScope } from '#kernel';
import { Database, named } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import { AddressDigestsService } from './address-digests.service.js';
import type { SuppressionReason } from '../consents/consent.js';
import {
  type StoredSuppression,
  SuppressedError,
  Suppression,
  type SuppressionDetails,
} from './suppression.js';

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
   * Adds the address unless it is suppressed already. Returns the suppression that holds, and if it is new. Callers hold the lock
   * of the address.
   */
  async add(
    scope: ProjectScope,
    address: Pick<EmailAddress, 'value' | 'key'>,
    reason: SuppressionReason,
    now: Date,
  ): Promise<SuppressionDetails & { readonly isNew: boolean }> {
    const stored = await this.find(scope, address.key);
    if (stored !== null) return { ...stored, email: stored.email ?? address.value, isNew: false };
    const suppression = new Suppression(scope, address, reason, now);
    await this.database.em.persist(suppression).flush();
    return { email: address.value, reason, suppressedAt: now, isNew: true };
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
