import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { EmailAddress, ProjectScope } from '#kernel';
import { Database, named, neverJoined } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import { AddressDigestsService } from './address-digests.service.js';
import {
  type MailStream,
  type StoredSuppression,
  SuppressedError,
  type SuppressionDetails,
} from './suppression.js';

/** SQL: an added condition on a suppression `s` that bars mail of the stream. All bar marketing. */
const andBars = (stream: MailStream): RawBuilder<unknown> =>
  stream === 'MARKETING' ? sql`` : sql` and s.streams = 'ALL'`;

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
        select email, reason, streams, suppressed_at from audience.suppressions
        where environment_id = ${scope.environmentId} and email_key = ${emailKey}
        union all
        select null, reason, streams, suppressed_at from audience.erased_suppressions
        where environment_id = ${scope.environmentId} and address_digest = ${digest}
      `.execute(this.database.tables());
      return rows[0] ?? null;
    });
  }

  /** Throws SuppressedError. */
  async refuseSuppressed(scope: ProjectScope, emailKey: string): Promise<void> {
    if ((await this.find(scope, emailKey)) !== null) throw new SuppressedError();
  }

  /** SQL: one address, erased or not, is suppressed, which bars marketing at least. */
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

  /**
   * SQL: the address of a column of address keys, erased or not, is suppressed for mail of the stream. `each` is looked up by itself,
   * however long the list is; as a `set` the list may be read whole, which is faster for thousands of addresses.
   */
  isSuppressed(
    scope: ProjectScope,
    emailKey: RawBuilder<unknown>,
    stream: MailStream,
    how: 'each' | 'set',
  ): RawBuilder<boolean> {
    const ending = how === 'each' ? sql`${andBars(stream)} ${neverJoined}` : andBars(stream);
    return sql<boolean>`(
      exists (
        select 1 from audience.suppressions s
        where s.environment_id = ${scope.environmentId} and s.email_key = ${emailKey}${ending}
      ) or (
        -- once for all rows: without any, no address is digested
        exists (select 1 from audience.erased_suppressions s where s.environment_id = ${scope.environmentId})
        and exists (
          select 1 from audience.erased_suppressions s
          where s.environment_id = ${scope.environmentId} and s.address_digest = ${this.digests.ofColumn(scope, emailKey)}${ending}
        )
      )
    )`;
  }

  /** The addresses, erased or not, that are suppressed for mail of the stream. */
  suppressedAmong(
    scope: ProjectScope,
    emailKeys: readonly string[],
    stream: MailStream,
  ): Promise<ReadonlySet<string>> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ key: string }>`
        select k.key from unnest(${[...emailKeys]}::text[]) k(key)
        where ${this.isSuppressed(scope, sql`k.key collate "C"`, stream, 'each')}
      `.execute(this.database.tables());
      return new Set(rows.map(({ key }) => key));
    });
  }

  /**
   * Adds addresses unless they are suppressed already; then `streams` may widen what is barred, and nothing else changes. Returns the
   * suppression of each that holds, and if it is new or wider. Callers hold the locks of the addresses.
   */
  async addAll(
    scope: ProjectScope,
    addresses: readonly Pick<EmailAddress, 'value' | 'key'>[],
    { reason, streams }: Pick<SuppressionDetails, 'reason' | 'streams'>,
    now: Date,
  ): Promise<readonly { readonly suppression: SuppressionDetails; readonly hasChanged: boolean }[]> {
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
        select s.email_key, s.email, s.reason, s.streams, s.suppressed_at from audience.suppressions s
        where s.environment_id = ${environment} and s.email_key = any(${keys}::text[])
        union all
        select k.email_key, k.email, e.reason, e.streams, e.suppressed_at from wanted k cross join lateral (
          select e.reason, e.streams, e.suppressed_at from audience.erased_suppressions e
          where e.environment_id = ${environment} and e.address_digest = k.digest ${neverJoined}
        ) e
      ), added as (
        insert into audience.suppressions (environment_id, email_key, email, reason, streams, suppressed_at)
        select ${environment}, k.email_key, k.email, ${reason}, ${streams}, ${now}::timestamptz from wanted k
        where k.email_key not in (select o.email_key from stored o)
        returning email_key, email, reason, streams, suppressed_at
      )
      select email_key, email, reason, streams, suppressed_at, true as is_new from added
      union all select email_key, email, reason, streams, suppressed_at, false from stored
    `.execute(this.database.tables());
    const narrow = rows.filter((row) => !row.isNew && streams === 'ALL' && row.streams !== 'ALL');
    const widened = new Set(narrow.map(({ emailKey }) => emailKey));
    if (widened.size > 0)
      await this.database.together(
        ...[...widened].flatMap((key) => widening(scope, key, this.digests.of(scope, key))),
      );
    const byKey = new Map(
      rows.toReversed().map(({ emailKey, isNew, ...suppression }) => {
        const isWider = widened.has(emailKey);
        const holds = isWider ? { ...suppression, streams } : suppression;
        return [emailKey, { suppression: holds, hasChanged: isNew || isWider }];
      }),
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

  /** Keeps the suppressions of addresses, if there are any, by the digests of these only. */
  async forgetAddresses(scope: ProjectScope, emailKeys: readonly string[], at: Date): Promise<void> {
    const digests = emailKeys.map((key) => this.digests.of(scope, key));
    await sql`
      with known as (
        delete from audience.suppressions
        where environment_id = ${scope.environmentId} and email_key = any(${[...emailKeys]}::text[])
        returning email_key, reason, streams, suppressed_at
      )
      insert into audience.erased_suppressions (environment_id, address_digest, reason, streams, suppressed_at, erased_at)
      select ${scope.environmentId}, e.digest, known.reason, known.streams, known.suppressed_at, ${at}::timestamptz
      from known join unnest(${[...emailKeys]}::text[], ${digests}::bytea[]) as e(email_key, digest)
        on e.email_key = known.email_key
      on conflict (environment_id, address_digest) do nothing
    `.execute(this.database.tables());
  }
}

/** Statements that let a suppression bar all mail, one for each table that may hold it. */
const widening = ({ environmentId }: ProjectScope, emailKey: string, digest: Buffer) => [
  sql`update audience.suppressions set streams = 'ALL' where environment_id = ${environmentId} and email_key = ${emailKey}`,
  sql`update audience.erased_suppressions set streams = 'ALL' where environment_id = ${environmentId} and address_digest = ${digest}`,
];
