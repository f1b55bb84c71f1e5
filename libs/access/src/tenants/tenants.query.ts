import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { Tenant } from './tenant.js';

/** Reads tenants, for the system's own work. */
@Injectable()
export class TenantsQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  find(tenantId: number): Promise<Tenant | null> {
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<Tenant>`
        select id, tenant_key as "tenantKey", name, created_at as "createdAt" from access.tenants where id = ${tenantId}
      `.execute(db);
      return rows[0] ?? null;
    });
  }

  /** The live environment of its oldest project; null while it has none. */
  firstEnvironment(tenantId: number): Promise<ProjectScope | null> {
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<ProjectScope>`
        select p.tenant_id as "tenantId", p.id as "projectId", e.id as "environmentId", e.environment
        from access.projects p join access.project_environments e on e.project_id = p.id
        where p.tenant_id = ${tenantId} and e.environment = 'LIVE'
        order by p.id limit 1
      `.execute(db);
      return rows[0] ?? null;
    });
  }

  /** How many projects it has, in the caller's transaction of the system. */
  projectsOf(tenantId: number): Promise<number> {
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from access.projects where tenant_id = ${tenantId}
      `.execute(db);
      return rows[0]?.count ?? 0;
    });
  }
}
