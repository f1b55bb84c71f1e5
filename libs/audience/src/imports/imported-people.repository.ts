import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { EmailAddress, ProjectScope } from '#kernel';
import { Database, environmentOf } from '#platform';
import type { ChangeContext, FirstConsents } from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import type { SubscriberFields } from '../subscribers/subscriber.js';
import type { KnownPerson } from './import-decisions.js';

/** Writes subscribers in sets, in the open transaction: each method is one statement. */
@Injectable()
export class ImportedPeople {
  constructor(
    private readonly database: Database,
    private readonly suppressions: SuppressionRepository,
    private readonly consents: ConsentRepository,
  ) {}

  /** The subscribers with these addresses, by key, locked until the transaction ends. */
  async known(scope: ProjectScope, emailKeys: readonly string[]): Promise<ReadonlyMap<string, KnownPerson>> {
    // One look-up by the unique index for each: while the table grows from nothing, its statistics say that
    // reading all of it is cheap, which would make a large import quadratic.
    const { rows } = await sql<KnownPerson & { emailKey: string }>`
      select b.* from unnest(${[...emailKeys].sort()}::text[]) k(key)
      cross join lateral (
        select b.id, b.email_key, b.first_name, b.last_name, b.phone, b.locale, b.time_zone,
          b.custom_fields
        from audience.subscribers b
        where b.environment_id = ${environmentOf(scope)} and b.email_key = k.key collate "C"
        limit 1 for update
      ) b
    `.execute(this.database.tables());
    return new Map(rows.map(({ emailKey, ...person }) => [emailKey, person]));
  }

  /** Those of the addresses that are suppressed. */
  async suppressed(scope: ProjectScope, emailKeys: readonly string[]): Promise<ReadonlySet<string>> {
    const { rows } = await sql<{ key: string }>`
      select k.key from unnest(${[...emailKeys]}::text[]) k(key)
      where ${this.suppressions.isSuppressed(scope, sql`k.key collate "C"`)}
    `.execute(this.database.tables());
    return new Set(rows.map(({ key }) => key));
  }

  /** Creates subscribers with their first consents. Their addresses are locked and belong to nobody. */
  async insert(
    scope: ProjectScope,
    people: readonly (SubscriberFields & { readonly address: EmailAddress })[],
    first: FirstConsents,
    context: ChangeContext,
  ): Promise<void> {
    if (people.length === 0) return;
    const { at } = context;
    const making = sql`
      with made as (
        insert into audience.subscribers (environment_id, source, status, created_at, updated_at, id, email, email_key,
          first_name, last_name, phone, locale, time_zone, custom_fields, subscriber_key)
        select ${scope.environmentId}, 'IMPORT', ${first.status}, ${at}::timestamptz, ${at}::timestamptz, platform.new_id(),
          n.email, n.email_key, n.first_name, n.last_name, n.phone, n.locale, n.time_zone,
          n.custom_fields::jsonb, n.subscriber_key
        from rows from (
          unnest(${people.map(({ address }) => address.value)}::text[],
            ${people.map(({ address }) => address.key)}::text[], ${fieldsOf(people)}),
          access.next_subscriber_keys(${people.length})
        ) as n(email, email_key, ${FIELD_NAMES}, subscriber_key)
        returning id, status, created_at
      )`;
    await this.consents.createSubscribers(
      scope,
      making,
      sql<{ readonly number: number }>`count(*) as number`,
      first,
      context,
    );
  }

  /** Writes all fields of locked subscribers. */
  async update(scope: ProjectScope, people: readonly KnownPerson[], at: Date): Promise<void> {
    if (people.length === 0) return;
    await sql`
      update audience.subscribers b set first_name = n.first_name, last_name = n.last_name, phone = n.phone,
        locale = n.locale, time_zone = n.time_zone, custom_fields = n.custom_fields::jsonb, updated_at = ${at}
      from unnest(${people.map(({ id }) => id)}::uuid[], ${fieldsOf(people)}) as n(id, ${FIELD_NAMES})
      where b.environment_id = ${scope.environmentId} and b.id = n.id
    `.execute(this.database.tables());
  }
}

const FIELD_NAMES = sql.raw('first_name, last_name, phone, locale, time_zone, custom_fields');

/** Each field's values, as a list of arrays in the order of `FIELD_NAMES`. */
function fieldsOf(people: readonly SubscriberFields[]): RawBuilder<unknown> {
  const texts = [
    people.map(({ firstName }) => firstName),
    people.map(({ lastName }) => lastName),
    people.map(({ phone }) => phone),
    people.map(({ locale }) => locale),
    people.map(({ timeZone }) => timeZone),
    people.map(({ customFields }) => JSON.stringify(customFields)),
  ];
  return sql.join(texts.map((values) => sql`${values}::text[]`));
}
