import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, DomainValidationError } from '#kernel';
import { Database } from '#platform';
import { TenantAlreadyExistsError } from './tenant.errors.js';
import { type Tenant, tenantFaults } from './tenant.js';

/** Tenants, as the operator makes them. */
@Injectable()
export class TenantsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Makes a tenant, or throws `DomainValidationError` or `TenantAlreadyExistsError`. */
  async create(wanted: { readonly tenantKey: string; readonly name: string }): Promise<Tenant> {
    const faults = tenantFaults(wanted);
    if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
    const now = this.clock.now();
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<Tenant>`
        insert into access.tenants (tenant_key, name, created_at, updated_at)
        values (${wanted.tenantKey}, ${wanted.name.trim()}, ${now}, ${now})
        on conflict (tenant_key) do nothing
        returning id, tenant_key as "tenantKey", name, created_at as "createdAt"
      `.execute(db);
      if (rows[0] === undefined) throw new TenantAlreadyExistsError(wanted.tenantKey);
      return rows[0];
    });
  }

  /** All tenants, by key. */
  list(): Promise<Tenant[]> {
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<Tenant>`
        select id, tenant_key as "tenantKey", name, created_at as "createdAt" from access.tenants order by tenant_key
      `.execute(db);
      return rows;
    });
  }
}
