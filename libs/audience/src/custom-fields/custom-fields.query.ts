import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database, prepared } from '#platform';
import type { CustomField, CustomFieldDefinition } from './custom-field.js';
import { customFieldColumns, CustomFieldRepository } from './custom-field.repository.js';
import { SYSTEM_FIELDS, systemFieldOf } from './system-fields.js';

/** Reads the custom fields of a project. */
@Injectable()
export class CustomFieldsQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CustomFieldRepository) private readonly fields: CustomFieldRepository,
  ) {}

  /** The system's fields, then the project's active ones, oldest first. */
  async list(scope: ProjectScope): Promise<readonly CustomField[]> {
    return [...SYSTEM_FIELDS, ...(await this.#active(scope))];
  }

  /** A field of the system or of the project, archived ones included. Throws NotFoundError. */
  async byKey(scope: ProjectScope, key: string): Promise<CustomField> {
    const field = systemFieldOf(key) ?? (key.includes('\u0000') ? null : await this.fields.find(scope, key));
    if (field === null) throw new NotFoundError();
    return field;
  }

  /**
   * The project's active fields, oldest first, to read values by. Not from a cache: a field that one request made
   * is known to the next on every instance.
   */
  definitions(scope: ProjectScope): Promise<readonly CustomFieldDefinition[]> {
    return this.#active(scope);
  }

  /**
   * The same, to write values by: until the transaction ends no field is made, changed or archived, so that a value
   * cannot be written while its option goes. Call it in the transaction that writes.
   */
  definitionsToWrite(scope: ProjectScope): Promise<readonly CustomFieldDefinition[]> {
    return this.database.transaction(scope, async () => {
      await this.fields.shareDefinitions(scope);
      return this.#active(scope);
    });
  }

  #active(scope: ProjectScope): Promise<readonly CustomField[]> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<CustomField>`${prepared}
        select ${customFieldColumns} from audience.custom_fields
        where environment_id = ${scope.environmentId} and status = 'ACTIVE'
        order by created_at, id
      `.execute(db);
      return rows;
    });
  }
}
