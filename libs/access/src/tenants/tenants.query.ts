import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { AccessTables } from '../access-tables.js';
import { TenantRepository } from './tenant.repository.js';
import type { Tenant } from './tenant.js';

/** Reads tenants, for the system's own work. */
@Injectable()
export class TenantsQuery {
  constructor(
    private readonly database: Database,
    private readonly tenants: TenantRepository,
  ) {}

  find(tenantId: number): Promise<Tenant | null> {
    return this.database.system(() => this.tenants.find(tenantId));
  }

  /** The live environment of its oldest project; null while it has none. */
  firstEnvironment(tenantId: number): Promise<ProjectScope | null> {
    return this.database.system(async () => {
      const scope = await this.database
        .tables<AccessTables>()
        .selectFrom('access.projects as p')
        .innerJoin('access.project_environments as e', 'e.projectId', 'p.id')
        .select(['p.tenantId', 'p.id as projectId', 'e.id as environmentId', 'e.environment'])
        .where('p.tenantId', '=', tenantId)
        .where('e.environment', '=', 'LIVE')
        .orderBy('p.id')
        .executeTakeFirst();
      return scope ?? null;
    });
  }

  /** How many projects it has, in the caller's transaction of the system. */
  projectsOf(tenantId: number): Promise<number> {
    return this.database.system(async () => {
      const { count } = await this.database
        .tables<AccessTables>()
        .selectFrom('access.projects')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('tenantId', '=', tenantId)
        .executeTakeFirstOrThrow();
      return count;
    });
  }
}
