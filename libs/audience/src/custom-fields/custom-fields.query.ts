import { Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database, PreparedQuery } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import {
  type CustomFieldDefinition,
  type CustomFieldView,
  SYSTEM_FIELDS,
  systemFieldOf,
} from './custom-field.js';
import { CustomFieldRepository } from './custom-field.repository.js';

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
