import { Injectable } from '@nestjs/common';
import { Clock, NotFoundError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database, ListOrder, unlessTaken } from '#platform';
import type { AccessTables } from './access-tables.js';
import { type NewTenant, Tenant, TenantAlreadyExistsError, tenantKeyFault } from './tenant.js';

const BY_KEY = new ListOrder([['tenant_key', 'text']], 'asc');

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

  /** A page of tenants, by key. */
  page(request: PageRequest): Promise<Page<Tenant>> {
    return this.database.system(() => {
      const tenants = this.database.tables<AccessTables>().selectFrom('access.tenants');
      const columns = ['id', 'tenantKey', 'name', 'createdAt', 'updatedAt'] as const;
      return BY_KEY.page(tenants.select(columns), tenants, request);
    });
  }

  /** Throws `NotFoundError`. */
  async byKey(tenantKey: string): Promise<Tenant> {
    const find = () => this.database.em.findOne(Tenant, { tenantKey });
    const tenant = tenantKeyFault(tenantKey) === null ? await this.database.system(find) : null;
    if (tenant === null) throw new NotFoundError();
    return tenant;
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
