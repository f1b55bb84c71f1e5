import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database, unlessTaken } from '#platform';
import type { AccessTables } from './access-tables.js';
import { type NewTenant, Tenant, TenantAlreadyExistsError } from './tenant.js';

/** Tenants, made by the operator and read by the system's own work. */
@Injectable()
export class TenantsService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Makes a tenant, or throws `DomainValidationError` or `TenantAlreadyExistsError`. */
  async create(wanted: NewTenant): Promise<Tenant> {
    const tenant = new Tenant(wanted, this.clock.now());
    await unlessTaken(
      this.database.system(() => this.database.em.persist(tenant).flush()),
      () => new TenantAlreadyExistsError(tenant.tenantKey),
    );
    return tenant;
  }

  find(id: number): Promise<Tenant | null> {
    return this.database.system(() => this.database.em.findOne(Tenant, { id }));
  }

  /** All tenants, by key. */
  list(): Promise<Tenant[]> {
    return this.database.system(() => this.database.em.find(Tenant, {}, { orderBy: { tenantKey: 'asc' } }));
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

  /** Counts its projects. */
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
