import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { EmailAddress, ProjectScope } from '#kernel';
import { Database, plannedForValues } from '#platform';
import type { ChangeContext, FirstConsents } from '../consents/consent.js';
import { ConsentRepository } from '../consents/consent.repository.js';
import { type ChangedBy, type FieldChanges, recordingChanges } from '../subscribers/field-changes.service.js';
import type { SubscriberFields } from '../subscribers/subscriber.js';
import { ErasedAddressesRepository } from '../suppressions/erased-addresses.repository.js';
import { SuppressionRepository } from '../suppressions/suppression.repository.js';
import type { KnownPerson } from './import-decisions.js';
import type { RowRange } from './import.js';

/** Writes the subscribers of imports in sets, in the open transaction with their addresses locked. */
@Injectable()
export class ImportedSubscribersRepository {
  constructor(
    private readonly database: Database,
    private readonly suppressions: SuppressionRepository,
    private readonly consents: ConsentRepository,
    private readonly erased: ErasedAddressesRepository,
  ) {}

  /**
   * Creates subscribers with consents, consent record and confirmation requests inside the database, from the rows of a range
   * that are valid, without an external id, and whose address is new, not suppressed and not erased. Removes these rows and returns their number.
   */
  async make(
    scope: ProjectScope,
    importId: string,
    range: RowRange,
    first: FirstConsents,
    context: ChangeContext,
  ): Promise<number> {
    const { environmentId } = scope;
    // Each look-up is a value of its own, never a join: it must be one step in an index, whatever the statistics say.
    // Not kept: a plan from when the table was empty would read everybody for each row, for seconds.
    const making = sql`/* import_new_subscribers */ with taken as (
        delete from audience.import_rows r
        where r.environment_id = ${environmentId} and r.import_id = ${importId}
          and r.row_number between ${range.first} and ${range.last} and r.email is not null
          and r.external_id is null
          and (
            select b.id from audience.subscribers b
            where b.environment_id = ${environmentId} and b.email_key = r.email_key
          ) is null
          and (${this.suppressions.isSuppressed(scope, sql`r.email_key`, 'MARKETING', 'set')}) is false
          and (${this.erased.isErased(scope, sql`r.email_key`)}) is false
        returning r.row_number, r.email, r.email_key, r.first_name, r.last_name, r.phone, r.locale,
          r.time_zone, r.custom_fields
      ), made as (
        insert into audience.subscribers (environment_id, source, status, created_at, updated_at, id, subscriber_key,
          email, email_key, first_name, last_name, phone, locale, time_zone, custom_fields)
        select ${environmentId}, 'IMPORT', ${first.status}, ${context.at}::timestamptz, ${context.at}::timestamptz,
          platform.new_id(), k.project_key || '-' || k.numbers[t.place],
          t.email, t.email_key, t.first_name, t.last_name, t.phone, t.locale, t.time_zone, t.custom_fields
        from (select *, row_number() over () as place from taken) t
        cross join access.next_subscriber_numbers((select count(*)::int from taken)) k
        returning id, status, created_at
      )`;
    return (await this.consents.createSubscribers(scope, making, COUNT, first, context)).number;
  }

  /** The subscribers with these addresses, by key, locked until the transaction ends. */
  async known(scope: ProjectScope, emailKeys: readonly string[]): Promise<ReadonlyMap<string, KnownPerson>> {
    // One look-up by the unique index for each: old statistics of a growing table would make a large import quadratic.
    const { rows } = await sql<KnownPerson & { emailKey: string }>`
      select b.* from unnest(${[...emailKeys].sort()}::text[]) k(key)
      cross join lateral (
        select b.id, b.email_key, b.external_id, b.first_name, b.last_name, b.phone, b.locale, b.time_zone,
          b.custom_fields
        from audience.subscribers b
        where b.environment_id = ${scope.environmentId} and b.email_key = k.key collate "C"
        limit 1 for update
      ) b
    `.execute(this.database.tables());
    return new Map(rows.map(({ emailKey, ...person }) => [emailKey, person]));
  }

  /** The ids of the subscribers who have these external ids, by external id. */
  async ownersOf(scope: ProjectScope, externalIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (externalIds.length === 0) return new Map();
    // As in `known`: one look-up in the index for each.
    const { rows } = await sql<{ externalId: string; id: string }>`
      select b.external_id, b.id from unnest(${[...externalIds]}::text[]) e(id)
      cross join lateral (
        select b.external_id, b.id from audience.subscribers b
        where b.environment_id = ${scope.environmentId} and b.external_id = e.id collate "C"
        limit 1
      ) b
    `.execute(this.database.tables());
    return new Map(rows.map(({ externalId, id }) => [externalId, id]));
  }

  /** Creates subscribers with their first consents; their addresses belong to nobody. */
  async insert(
    scope: ProjectScope,
    people: readonly (SubscriberFields & { readonly address: EmailAddress })[],
    first: FirstConsents,
    context: ChangeContext,
  ): Promise<void> {
    if (people.length === 0) return;
    const { at } = context;
    const making = sql`/* import_decided_subscribers */ with made as (
        insert into audience.subscribers (environment_id, source, status, created_at, updated_at, id, email, email_key,
          external_id, first_name, last_name, phone, locale, time_zone, custom_fields, subscriber_key)
        select ${scope.environmentId}, 'IMPORT', ${first.status}, ${at}::timestamptz, ${at}::timestamptz, platform.new_id(),
          n.email, n.email_key, n.external_id, n.first_name, n.last_name, n.phone, n.locale, n.time_zone,
          n.custom_fields::jsonb, k.project_key || '-' || k.numbers[n.place]
        from unnest(${people.map(({ address }) => address.value)}::text[],
          ${people.map(({ address }) => address.key)}::text[], ${fieldsOf(people)})
          with ordinality as n(email, email_key, ${FIELD_NAMES}, place)
        cross join access.next_subscriber_numbers(${people.length}) k
        returning id, status, created_at
      )`;
    await this.consents.createSubscribers(scope, making, COUNT, first, context);
  }

  /** Writes all fields of locked subscribers, and records their changes. */
  async update(
    scope: ProjectScope,
    people: readonly (KnownPerson & { readonly changes: FieldChanges })[],
    by: ChangedBy,
    at: Date,
  ): Promise<void> {
    if (people.length === 0) return;
    const update = sql`
      update audience.subscribers b set external_id = n.external_id, first_name = n.first_name, last_name = n.last_name, phone = n.phone,
        locale = n.locale, time_zone = n.time_zone, custom_fields = n.custom_fields::jsonb, updated_at = ${at}
      from unnest(${people.map(({ id }) => id)}::uuid[], ${fieldsOf(people)}) as n(id, ${FIELD_NAMES})
      where b.environment_id = ${scope.environmentId} and b.id = n.id
    `;
    // An array of unknown length is taken for ten: each person would be compared with each.
    const recorded = new Map(people.map(({ id, changes }) => [id, changes]));
    const recording = recordingChanges(scope, by, recorded, at);
    await plannedForValues(this.database, {}, () => this.database.together(update, recording));
  }
}

const COUNT = sql<{ readonly number: number }>`count(*) as number`;

const FIELD_NAMES = sql.raw('external_id, first_name, last_name, phone, locale, time_zone, custom_fields');

/** Each field's values, as a list of arrays in the order of `FIELD_NAMES`. */
function fieldsOf(people: readonly SubscriberFields[]): RawBuilder<unknown> {
  const texts = [
    people.map(({ externalId }) => externalId),
    people.map(({ firstName }) => firstName),
    people.map(({ lastName }) => lastName),
    people.map(({ phone }) => phone),
    people.map(({ locale }) => locale),
    people.map(({ timeZone }) => timeZone),
    people.map(({ customFields }) => JSON.stringify(customFields)),
  ];
  return sql.join(texts.map((values) => sql`${values}::text[]`));
}
