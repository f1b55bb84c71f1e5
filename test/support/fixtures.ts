import type { ProjectScope } from '#kernel';
import type { TestDatabase } from './database.js';

export interface TestProject {
  /** TENANT/PROJECT, as the operator's commands name it. */
  readonly name: string;
  readonly tenantKey: string;
  readonly projectKey: string;
  readonly live: ProjectScope;
  readonly test: ProjectScope;
}

interface Ids {
  readonly tenant_key: string;
  readonly tenant_id: number;
  readonly project_id: number;
  readonly environment_id: number;
  readonly environment: 'LIVE' | 'TEST';
}

/** A tenant of its own with one project and its two environments. */
export async function createProject(test: TestDatabase, projectKey = 'APIT'): Promise<TestProject> {
  // A statement of its own: where the two tables are copied to each node, who changes a project locks it before its tenant.
  const [tenant] = await test.query<{ id: number }>(
    `insert into access.tenants (tenant_key, name, created_at, updated_at)
     values ('T' || upper(substr(md5(random()::text), 1, 12)), 'Acme', now(), now()) returning id::int`,
  );
  const rows = await test.query<Ids>(
    `with project as (
       insert into access.projects (tenant_id, project_key, name, sender_name, postal_address, created_at, updated_at)
       values ($1, $2, 'Acme News', 'Acme', '1 Main Street, Springfield', now(), now()) returning id, tenant_id
     ), environments as (
       insert into access.project_environments (project_id, environment)
       select id, unnest(array['LIVE', 'TEST']) from project returning id, project_id, environment
     )
     select t.tenant_key, p.tenant_id::int, p.id::int as project_id, e.id::int as environment_id, e.environment
     from environments e join project p on p.id = e.project_id join access.tenants t on t.id = p.tenant_id`,
    [tenant?.id, projectKey],
  );
  const scopeOf = (environment: 'LIVE' | 'TEST'): ProjectScope => {
    const row = rows.find((candidate) => candidate.environment === environment);
    if (row === undefined) throw new Error(`No ${environment} environment was made.`);
    return {
      tenantId: row.tenant_id,
      projectId: row.project_id,
      environmentId: row.environment_id,
      environment,
    };
  };
  const tenantKey = rows[0]?.tenant_key ?? '';
  return {
    name: `${tenantKey}/${projectKey}`,
    tenantKey,
    projectKey,
    live: scopeOf('LIVE'),
    test: scopeOf('TEST'),
  };
}
