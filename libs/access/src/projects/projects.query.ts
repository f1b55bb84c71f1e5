import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { Project, ProjectWithEnvironments } from './project.js';

interface ProjectListRow {
  readonly id: number;
  readonly tenantId: number;
  readonly tenantKey: string;
  readonly projectKey: string;
  readonly name: string;
  readonly liveId: number;
  readonly testId: number;
}

/** Reads projects. */
@Injectable()
export class ProjectsQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** The project of `scope`, or null when it is gone. */
  ofScope(scope: ProjectScope): Promise<Project | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Project>`
        select id, project_key as "projectKey", name, description, sender_name as "senderName",
          postal_address as "postalAddress", default_from_email as "defaultFromEmail",
          ai_segment_suggestions_enabled as "aiSegmentSuggestionsEnabled", ${scope.environment}::text as environment,
          created_at as "createdAt", updated_at as "updatedAt"
        from access.projects
        where id = ${scope.projectId}
      `.execute(db);
      return rows[0] ?? null;
    });
  }

  /** Every tenant's projects, by tenant and project key. For the operator. */
  list(): Promise<ProjectWithEnvironments[]> {
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<ProjectListRow>`
        select p.id, p.tenant_id as "tenantId", t.tenant_key as "tenantKey", p.project_key as "projectKey", p.name,
          live.id as "liveId", test.id as "testId"
        from access.projects p
        join access.tenants t on t.id = p.tenant_id
        join access.project_environments live on live.project_id = p.id and live.environment = 'LIVE'
        join access.project_environments test on test.project_id = p.id and test.environment = 'TEST'
        order by t.tenant_key, p.project_key
      `.execute(db);
      return rows.map(withScopes);
    });
  }
}

function withScopes({ liveId, testId, ...project }: ProjectListRow): ProjectWithEnvironments {
  const ids = { tenantId: project.tenantId, projectId: project.id };
  return {
    ...project,
    live: { ...ids, environmentId: liveId, environment: 'LIVE' },
    test: { ...ids, environmentId: testId, environment: 'TEST' },
  };
}
