import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { CustomField, CustomFieldDefinition } from './custom-field.js';

export const customFieldColumns = sql`id, key, type, display_name as "displayName", description,
  false as "isSystem", is_required as "isRequired", default_value as "defaultValue", options, status,
  created_at as "createdAt", updated_at as "updatedAt", archived_at as "archivedAt"`;

/** What a change writes; a key and its type stay. */
export type CustomFieldSettings = Pick<
  CustomField,
  'displayName' | 'description' | 'isRequired' | 'defaultValue' | 'options'
>;

/**
 * The custom fields of a project, to change them. Two locks of the transaction keep values and definitions
 * together: who writes values shares one, who changes definitions has it alone.
 */
@Injectable()
export class CustomFieldRepository {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Until the transaction ends no field is made or changed by others, and no value written. */
  lockDefinitions(scope: ProjectScope): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`select pg_advisory_xact_lock(${definitionsLock(scope)})`.execute(db);
    });
  }

  /** Until the transaction ends no field is made or changed. */
  shareDefinitions(scope: ProjectScope): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`select pg_advisory_xact_lock_shared(${definitionsLock(scope)})`.execute(db);
    });
  }

  find(scope: ProjectScope, key: string): Promise<CustomField | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<CustomField>`
        select ${customFieldColumns} from audience.custom_fields
        where environment_id = ${scope.environmentId} and key = ${key}
      `.execute(db);
      return rows[0] ?? null;
    });
  }

  countActive(scope: ProjectScope): Promise<number> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ count: number }>`
        select count(*) from audience.custom_fields
        where environment_id = ${scope.environmentId} and status = 'ACTIVE'
      `.execute(db);
      return rows[0]!.count;
    });
  }

  /** Adds an active field; it takes the place of an archived one that had its key. */
  put(
    scope: ProjectScope,
    field: CustomFieldSettings & Pick<CustomField, 'id' | 'key' | 'type'>,
    at: Date,
  ): Promise<CustomField> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<CustomField>`
        insert into audience.custom_fields (id, environment_id, key, type, display_name, description, is_required,
          default_value, options, status, created_at, updated_at)
        values (${field.id}, ${scope.environmentId}, ${field.key}, ${field.type}, ${field.displayName},
          ${field.description}, ${field.isRequired}, ${field.defaultValue}, ${JSON.stringify(field.options)}::json,
          'ACTIVE', ${at}, ${at})
        on conflict (environment_id, key) do update set id = excluded.id, type = excluded.type,
          display_name = excluded.display_name, description = excluded.description,
          is_required = excluded.is_required, default_value = excluded.default_value, options = excluded.options,
          status = 'ACTIVE', created_at = excluded.created_at, updated_at = excluded.updated_at, archived_at = null
        returning ${customFieldColumns}
      `.execute(db);
      return rows[0]!;
    });
  }

  /** Writes all settings. */
  update(scope: ProjectScope, id: string, settings: CustomFieldSettings, at: Date): Promise<CustomField> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<CustomField>`
        update audience.custom_fields set display_name = ${settings.displayName}, description = ${settings.description},
          is_required = ${settings.isRequired}, default_value = ${settings.defaultValue},
          options = ${JSON.stringify(settings.options)}::json, updated_at = ${at}
        where environment_id = ${scope.environmentId} and id = ${id}
        returning ${customFieldColumns}
      `.execute(db);
      return rows[0]!;
    });
  }

  archive(scope: ProjectScope, id: string, at: Date): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        update audience.custom_fields set status = 'ARCHIVED', archived_at = ${at}, updated_at = ${at}
        where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
    });
  }

  /**
   * Those of the option values that some subscriber has. Counted, since for EXISTS the planner hopes to meet one soon
   * and reads on through the table when there is none; the index knows at once.
   */
  optionsInUse(
    scope: ProjectScope,
    { key, type }: Pick<CustomFieldDefinition, 'key' | 'type'>,
    values: readonly string[],
  ): Promise<readonly string[]> {
    const found = type === 'MULTI_SELECT' ? sql`to_jsonb(array[w.value])` : sql`to_jsonb(w.value)`;
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ value: string }>`
        select w.value from unnest(${[...values]}::text[]) with ordinality w (value, place)
        where 0 < (
          select count(*) from audience.scoped_subscribers b
          where b.environment_id = ${scope.environmentId} and b.custom_fields @> jsonb_build_object(${key}::text, ${found})
        )
        order by w.place
      `.execute(db);
      return rows.map(({ value }) => value);
    });
  }

  /** Whether some subscriber has a value under the key. Reads the whole project when none has. */
  hasValues(scope: ProjectScope, key: string): Promise<boolean> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ found: boolean }>`
        select exists (
          select from audience.scoped_subscribers b
          where b.environment_id = ${scope.environmentId} and jsonb_exists(b.custom_fields, ${key})
        ) as found
      `.execute(db);
      return rows[0]!.found;
    });
  }
}

/** What who writes values shares and who changes definitions has alone, in the address space of advisory locks. */
export function definitionsLock({ environmentId }: ProjectScope): RawBuilder<number> {
  return sql<number>`hashtextextended(${`custom-fields:${environmentId}`}, 0)`;
}
