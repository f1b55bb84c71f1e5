import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { newId, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import { CustomField, type CustomFieldDefinition, type CustomFieldSettings } from './custom-field.js';

/**
 * The custom fields of a project, to change them in the open transaction. Two locks of the transaction keep values and definitions
 * together: who writes values shares one, who changes definitions has it alone.
 */
@Injectable()
export class CustomFieldRepository {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Until the transaction ends no field is made or changed by others, and no value written. */
  async lockDefinitions(scope: ProjectScope): Promise<void> {
    await sql`select pg_advisory_xact_lock(${definitionsLock(scope)})`.execute(this.database.tables());
  }

  /** Until the transaction ends no field is made or changed. */
  async shareDefinitions(scope: ProjectScope): Promise<void> {
    await sql`select pg_advisory_xact_lock_shared(${definitionsLock(scope)})`.execute(this.database.tables());
  }

  find({ environmentId }: ProjectScope, key: string): Promise<CustomField | null> {
    return this.database.em.findOne(CustomField, { environmentId, key });
  }

  countActive({ environmentId }: ProjectScope): Promise<number> {
    return this.database.em.count(CustomField, { environmentId, status: 'ACTIVE' });
  }

  /** Adds an active field; it takes the place of an archived one that had its key, under an id of its own. */
  async put(
    { environmentId }: ProjectScope,
    { key, ...field }: CustomFieldSettings & Pick<CustomField, 'key' | 'type'>,
    at: Date,
  ): Promise<void> {
    // As text: pg would make a PostgreSQL array of it.
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
   * Those of the option values that some subscriber has. Counted, since for EXISTS the planner hopes to meet one soon
   * and reads on through the table when there is none; the index knows at once.
   */
  async optionsInUse(
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

  /** Whether some subscriber has a value under the key. Reads the whole project when none has. */
  async hasValues(scope: ProjectScope, key: string): Promise<boolean> {
    const { rows } = await sql<{ found: boolean }>`
      select exists (
        select from audience.scoped_subscribers b
        where b.environment_id = ${scope.environmentId} and jsonb_exists(b.custom_fields, ${key})
      ) as found
    `.execute(this.database.tables());
    return rows[0]!.found;
  }
}

/** What who writes values shares and who changes definitions has alone, in the address space of advisory locks. */
export function definitionsLock({ environmentId }: ProjectScope): RawBuilder<number> {
  return sql<number>`hashtextextended(${`custom-fields:${environmentId}`}, 0)`;
}
