import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, DomainValidationError, type Environment, NotFoundError, type ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import { ProjectAlreadyExistsError } from './project.errors.js';
import { changeFaults, type NewProject, type ProjectChanges, projectFaults } from './project.js';

/** What a new project is worked with: the scopes of its two environments. */
export interface CreatedProject {
  readonly id: number;
  readonly projectKey: string;
  readonly live: ProjectScope;
  readonly test: ProjectScope;
}

/** Projects, as the operator makes them. */
@Injectable()
export class ProjectsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Makes a project with both of its environments, or nothing. Throws `DomainValidationError`,
   * `ProjectAlreadyExistsError`, or `NotFoundError` when there is no such tenant.
   */
  async create(tenantId: number, wanted: NewProject): Promise<CreatedProject> {
    const faults = projectFaults(wanted);
    if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
    return this.database.system(async ({ db }) => {
      await requireTenant(db, tenantId);
      const id = await this.#insert(db, tenantId, wanted);
      if (id === null) throw new ProjectAlreadyExistsError(wanted.projectKey);
      const [live, test] = [
        await insertEnvironment(db, tenantId, id, 'LIVE'),
        await insertEnvironment(db, tenantId, id, 'TEST'),
      ];
      return { id, projectKey: wanted.projectKey, live, test };
    });
  }

  /** Changes what is said about a project. Throws `DomainValidationError`, or `NotFoundError` without such a project. */
  async change(projectId: number, changes: ProjectChanges): Promise<void> {
    const faults = changeFaults(changes);
    if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
    const { name, description, senderName, postalAddress, defaultFromEmail } = changes;
    const { aiSegmentSuggestionsEnabled = null } = changes;
    await this.database.system(async ({ db }) => {
      const { numAffectedRows } = await sql`
        update access.projects set name = coalesce(${name?.trim() ?? null}, name),
          sender_name = coalesce(${senderName?.trim() ?? null}, sender_name),
          postal_address = coalesce(${postalAddress?.trim() ?? null}, postal_address),
          description = case when ${description !== undefined}::boolean then ${description ?? null} else description end,
          default_from_email = case when ${defaultFromEmail !== undefined}::boolean then ${defaultFromEmail?.trim() ?? null}
            else default_from_email end,
          ai_segment_suggestions_enabled = coalesce(${aiSegmentSuggestionsEnabled}, ai_segment_suggestions_enabled),
          updated_at = ${this.clock.now()}
        where id = ${projectId}
      `.execute(db);
      if (numAffectedRows !== 1n) throw new NotFoundError();
    });
  }

  async #insert(db: Sql, tenantId: number, wanted: NewProject): Promise<number | null> {
    const now = this.clock.now();
    const { rows } = await sql<{ id: number }>`
      insert into access.projects (tenant_id, project_key, name, description, sender_name, postal_address,
        default_from_email, created_at, updated_at)
      values (${tenantId}, ${wanted.projectKey}, ${wanted.name.trim()}, ${wanted.description ?? null},
        ${wanted.senderName.trim()}, ${wanted.postalAddress.trim()}, ${wanted.defaultFromEmail?.trim() ?? null}, ${now}, ${now})
      on conflict (tenant_id, project_key) do nothing
      returning id
    `.execute(db);
    return rows[0]?.id ?? null;
  }
}

async function requireTenant(db: Sql, tenantId: number): Promise<void> {
  const { rows } = await sql`select from access.tenants where id = ${tenantId}`.execute(db);
  if (rows.length === 0) throw new NotFoundError();
}

async function insertEnvironment(
  db: Sql,
  tenantId: number,
  projectId: number,
  environment: Environment,
): Promise<ProjectScope> {
  const { rows } = await sql<{ id: number }>`
    insert into access.project_environments (project_id, environment) values (${projectId}, ${environment}) returning id
  `.execute(db);
  if (rows[0] === undefined) throw new Error('The environment was not made.');
  return { tenantId, projectId, environmentId: rows[0].id, environment };
}
