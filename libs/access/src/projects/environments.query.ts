import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';

const CACHED = 10_000;

/**
 * The scopes of all environments, for statements of the system to join: `tenant_id`, `project_id`, `environment_id` and
 * `environment`. Each node of a cluster has these tables.
 */
export const environmentScopes: RawBuilder<unknown> = sql`(
  select p.tenant_id, p.id as project_id, e.id as environment_id, e.environment
  from access.project_environments e join access.projects p on p.id = e.project_id
)`;

/** Columns of a `ProjectScope`, of `environmentScopes e`. */
export const scopeColumns: RawBuilder<unknown> = sql`
  e.tenant_id as "tenantId", e.project_id as "projectId", e.environment_id as "environmentId", e.environment
`;

/** Whom an environment belongs to, for work that knows only its id: a signed link, a job's row. */
@Injectable()
export class EnvironmentsQuery {
  /** Known environments; they never change and are never removed. */
  readonly #known = new LRUCache<number, ProjectScope>({ max: CACHED });

  constructor(private readonly database: Database) {}

  /** The scope of an environment, or null when there is no such one. */
  async find(environmentId: number): Promise<ProjectScope | null> {
    const known = this.#known.get(environmentId);
    if (known !== undefined) return known;
    if (!Number.isSafeInteger(environmentId)) return null;
    // A function of its own, since an id is looked up before there is a scope.
    const { rows } = await sql<ProjectScope>`select * from access.find_environment(${environmentId})`.execute(
      this.database.unscopedTables(),
    );
    const scope = rows[0] ?? null;
    if (scope !== null) this.#known.set(environmentId, Object.freeze(scope));
    return scope;
  }
}
