import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { EmailAddress, ProjectScope } from '#kernel';
import { Database, environmentOf, prepared } from '#platform';
import { AddressDigests } from '../addresses/address-digests.service.js';
import type { SuppressionReason } from '../consents/subscriber-status.js';
import type { StandingSuppression, Suppression } from './suppression.js';

/** The suppression list of a project. Addresses that were erased are in it by their keyed digest. */
@Injectable()
export class SuppressionRepository {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(AddressDigests) private readonly digests: AddressDigests,
  ) {}

  find(scope: ProjectScope, emailKey: string): Promise<StandingSuppression | null> {
    const digest = this.digests.of(scope, emailKey);
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<StandingSuppression>`${prepared}
        select email, reason, suppressed_at as "suppressedAt" from audience.suppressions
        where environment_id = ${environmentOf(scope)} and email_key = ${emailKey}
        union all
        select null, reason, suppressed_at from audience.erased_suppressions
        where environment_id = ${environmentOf(scope)} and address_digest = ${digest}
      `.execute(db);
      return rows[0] ?? null;
    });
  }

  /** Whether one address is suppressed, erased ones included, as SQL. */
  isAddressSuppressed(scope: ProjectScope, emailKey: string): RawBuilder<boolean> {
    return sql<boolean>`(
      exists (
        select from audience.suppressions s where s.environment_id = ${environmentOf(scope)} and s.email_key = ${emailKey}
      ) or exists (
        select from audience.erased_suppressions s
        where s.environment_id = ${environmentOf(scope)} and s.address_digest = ${this.digests.of(scope, emailKey)}
      )
    )`;
  }

  /** Whether the address of a column of address keys is suppressed, erased ones included, as SQL. */
  isSuppressed(scope: ProjectScope, emailKey: RawBuilder<unknown>): RawBuilder<boolean> {
    return sql<boolean>`(
      exists (
        select from audience.suppressions s
        where s.environment_id = ${environmentOf(scope)} and s.email_key = ${emailKey}
      ) or (
        -- once for all rows: without any, no address is digested
        exists (select from audience.erased_suppressions s where s.environment_id = ${environmentOf(scope)})
        and exists (
          select from audience.erased_suppressions s
          where s.environment_id = ${environmentOf(scope)} and s.address_digest = ${this.digests.ofColumn(scope, emailKey)}
        )
      )
    )`;
  }

  /** Adds the address unless it is there: what stands first, stays. Returns what stands, and whether it is this. */
  add(
    scope: ProjectScope,
    address: Pick<EmailAddress, 'value' | 'key'>,
    reason: SuppressionReason,
    at: Date,
  ): Promise<Suppression & { readonly isNew: boolean }> {
    const digest = this.digests.of(scope, address.key);
    return this.database.transaction(scope, async ({ db }) => {
      const { rows: added } = await sql`
        insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at)
        select ${scope.environmentId}, ${address.key}, ${address.value}, ${reason}, ${at}::timestamptz
        where not exists (
          select from audience.erased_suppressions
          where environment_id = ${environmentOf(scope)} and address_digest = ${digest}
        )
        on conflict (environment_id, email_key) do nothing returning 1
      `.execute(db);
      const standing = (await this.find(scope, address.key))!;
      return { ...standing, email: standing.email ?? address.value, isNew: added.length > 0 };
    });
  }

  /** Whether there was one. */
  remove(scope: ProjectScope, emailKey: string): Promise<boolean> {
    const digest = this.digests.of(scope, emailKey);
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql`
        with known as (
          delete from audience.suppressions
          where environment_id = ${environmentOf(scope)} and email_key = ${emailKey} returning 1
        ), erased as (
          delete from audience.erased_suppressions
          where environment_id = ${environmentOf(scope)} and address_digest = ${digest} returning 1
        )
        select from known union all select from erased
      `.execute(db);
      return rows.length > 0;
    });
  }

  /** Keeps the suppression, if there is one, and forgets the address. */
  forgetAddress(scope: ProjectScope, emailKey: string, at: Date): Promise<void> {
    const digest = this.digests.of(scope, emailKey);
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        with known as (
          delete from audience.suppressions
          where environment_id = ${environmentOf(scope)} and email_key = ${emailKey} returning reason, suppressed_at
        )
        insert into audience.erased_suppressions (environment_id, address_digest, reason, suppressed_at, erased_at)
        select ${scope.environmentId}, ${digest}, reason, suppressed_at, ${at}::timestamptz from known
        on conflict (environment_id, address_digest) do nothing
      `.execute(db);
    });
  }
}
