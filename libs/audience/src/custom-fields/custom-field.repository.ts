import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { InvalidStateError, newId, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import {
  CustomField,
  type CustomFieldDefinition,
  type CustomFieldSettings,
  goneOptions,
  systemFieldOf,
} from './custom-field.js';

/**
 * The custom fields of a project, for changes in the open transaction. An advisory lock keeps values and definitions
 * consistent: writers of values share it, changes of definitions hold it exclusively.
 */
@Injectable()
export class CustomFieldRepository {
  constructor(private readonly database: Database) {}

  /** Until the transaction ends, nobody else creates or changes fields or writes values. */
  async lockDefinitions(scope: ProjectScope): Promise<void> {
    await sql`select pg_advisory_xact_lock(${definitionsLock(scope)})`.execute(this.database.tables());
  }

  /** Until the transaction ends, nobody creates or changes fields. */
  async shareDefinitions(scope: ProjectScope): Promise<void> {
    await sql`select pg_advisory_xact_lock_shared(${definitionsLock(scope)})`.execute(this.database.tables());
  }

  find({ environmentId }: ProjectScope, key: string): Promise<CustomField | null> {
    return this.database.em.findOne(CustomField, { environmentId, key });
  }

  /** A field of the project, not of the system. Throws NotFoundError, InvalidStateError. */
  async own(scope: ProjectScope, key: string): Promise<CustomField> {
    if (systemFieldOf(key) !== null) {
      throw new InvalidStateError('A system field cannot be changed or archived.', 'SYSTEM', []);
    }
    const field = key.includes('\u0000') ? null : await this.find(scope, key);
    if (field === null) throw new NotFoundError();
    return field;
  }

  countActive({ environmentId }: ProjectScope): Promise<number> {
    return this.database.em.count(CustomField, { environmentId, status: 'ACTIVE' });
  }

  /** Adds an active field, under a new id. It replaces an archived field with the same key. */
  async put(
    { environmentId }: ProjectScope,
    { key, ...field }: CustomFieldSettings & Pick<CustomField, 'key' | 'type'>,
    at: Date,
  ): Promise<void> {
    // As text: pg would convert it to a PostgreSQL array.
    const options = sql<CustomField['options']>`${JSON.stringify(field.options)}::json`;
    const times = { createdAt: at, updatedAt: at, archivedAt: null };
    const row = { ...field, ...times, options, id: newId(), status: 'ACTIVE' as const };
    await this.database
      .tables<AudienceTables>()
      .insertInto('audience.custom_fields')
      .values({ ...row, environmentId, key })
      .onConflict((conflict) => conflict.columns(['environmentId', 'key']).doUpdateSet(row))
      .execute();
  }

  /**
   * The option values that a subscriber has. Counts instead of EXISTS, for which the planner expects a match soon and
   * reads the whole table when there is none; the index answers the count at once.
   */
  async #optionsInUse(
    scope: ProjectScope,
    { key, type }: Pick<CustomFieldDefinition, 'key' | 'type'>,
    values: readonly string[],
  ): Promise<readonly string[]> {
    const found = type === 'MULTI_SELECT' ? sql`to_jsonb(array[w.value])` : sql`to_jsonb(w.value)`;
    const { rows } = await sql<{ value: string }>`
      select w.value from unnest(${[...values]}::text[]) with ordinality w (value, place)
      where 0 < (
        select count(*) from audience.scoped_subscribers b
        where b.environment_id = ${scope.environmentId} and b.custom_fields @> jsonb_build_object(${key}::text, ${found})
      )
      order by w.place
    `.execute(this.database.tables());
    return rows.map(({ value }) => value);
  }

  /** The error in new options of a field that lack some which subscribers have. */
  async optionFaults(
    scope: ProjectScope,
    before: Pick<CustomField, 'key' | 'type' | 'options'>,
    after: Pick<CustomField, 'options'>,
  ): Promise<Readonly<Record<string, string>>> {
    const gone = goneOptions(before.options, after.options);
    const inUse = gone.length === 0 ? [] : await this.#optionsInUse(scope, before, gone);
    return inUse.length === 0
      ? {}
      : { options: `must keep ${inUse.join(', ')}: subscribers have these values` };
  }

  /** True when a subscriber has a value under the key. Reads the whole project when none has. */
  async hasValues(scope: ProjectScope, key: string): Promise<boolean> {
    const { rows } = await sql<{ found: boolean }>`
      select exists (
        select 1 from audience.scoped_subscribers b
        where b.environment_id = ${scope.environmentId} and jsonb_exists(b.custom_fields, ${key})
      ) as found
    `.execute(this.database.tables());
    return rows[0]!.found;
  }
}

/** The class of the advisory lock that writers of values share and changes of definitions hold exclusively. */
export function definitionsLock({ environmentId }: ProjectScope): RawBuilder<number> {
  return sql<number>`hashtextextended(${`custom-fields:${environmentId}`}, 0)`;
}
