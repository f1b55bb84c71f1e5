import { Injectable } from '@nestjs/common';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { InvalidStateError, newId, NotFoundError, type ProjectScope } from '#kernel';
import { auditedSettings, AuditTrail, Database, PreparedQuery } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import {
  CustomField,
  type CustomFieldDefinition,
  type CustomFieldSettings,
  type CustomFieldView,
  goneOptions,
  SYSTEM_FIELDS,
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
    AuditTrail.current?.changes(null, auditedSettings({ key, ...field, status: row.status }));
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

const fieldsOf = (tables: Kysely<AudienceTables>, environmentId: number) =>
  tables
    .selectFrom('audience.custom_fields')
    .select(['id', 'key', 'type', 'displayName', 'description', 'isRequired', 'defaultValue', 'options'])
    .select(['status', 'createdAt', 'updatedAt', 'archivedAt', sql<boolean>`false`.as('isSystem')])
    .where('environmentId', '=', environmentId);

/** Prepared: every write of values reads it. */
const ACTIVE = new PreparedQuery(
  'active_custom_fields',
  (tables: Kysely<AudienceTables>, environmentId: number) =>
    fieldsOf(tables, environmentId).where('status', '=', 'ACTIVE').orderBy('createdAt').orderBy('id'),
);

/** Reads the custom fields of a project. */
@Injectable()
export class CustomFieldsQuery {
  constructor(
    private readonly database: Database,
    private readonly fields: CustomFieldRepository,
  ) {}

  /** The system's fields, then the project's active ones, oldest first. */
  async list(scope: ProjectScope): Promise<readonly CustomFieldView[]> {
    return [...SYSTEM_FIELDS, ...(await this.#active(scope))];
  }

  /** A field of the system or of the project, archived ones included. Throws NotFoundError. */
  async byKey(scope: ProjectScope, key: string): Promise<CustomFieldView> {
    const field = systemFieldOf(key) ?? (await this.#find(scope, key));
    if (field === undefined) throw new NotFoundError();
    return field;
  }

  /**
   * The project's active fields, oldest first, for reading values. Not cached: every instance must know a field right
   * after the request that created it.
   */
  definitions(scope: ProjectScope): Promise<readonly CustomFieldDefinition[]> {
    return this.#active(scope);
  }

  /** The keys without an active field: nobody has a value for them to show. */
  async missingAmong(scope: ProjectScope, keys: readonly string[]): Promise<readonly string[]> {
    if (keys.length === 0) return [];
    const active = new Set((await this.#active(scope)).map(({ key }) => key));
    return keys.filter((key) => !active.has(key));
  }

  /**
   * The definitions for writing values: until the transaction ends nobody creates, changes or archives a field, so that no value
   * is written while its option is removed. Call it in the transaction that writes.
   */
  definitionsToWrite(scope: ProjectScope): Promise<readonly CustomFieldDefinition[]> {
    return this.database.transaction(scope, async () => {
      await this.fields.shareDefinitions(scope);
      return this.#active(scope);
    });
  }

  #active(scope: ProjectScope): Promise<readonly CustomFieldView[]> {
    return this.database.transaction(scope, () => ACTIVE.run(this.database.tables(), scope.environmentId));
  }

  async #find(scope: ProjectScope, key: string): Promise<CustomFieldView | undefined> {
    if (key.includes('\u0000')) return undefined;
    return this.database.transaction(scope, () =>
      fieldsOf(this.database.tables(), scope.environmentId).where('key', '=', key).executeTakeFirst(),
    );
  }
}
