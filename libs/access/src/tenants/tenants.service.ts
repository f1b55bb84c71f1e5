import { Injectable } from '@nestjs/common';
import { Clock } from '#kernel';
import { Database } from '#platform';
import { TenantRepository } from './tenant.repository.js';
import { type NewTenant, Tenant } from './tenant.js';

/** Tenants, as the operator makes them. */
@Injectable()
export class TenantsService {
  constructor(
    private readonly database: Database,
    private readonly tenants: TenantRepository,
    private readonly clock: Clock,
  ) {}

  /** Makes a tenant, or throws `DomainValidationError` or `TenantAlreadyExistsError`. */
  async create(wanted: NewTenant): Promise<Tenant> {
    const tenant = new Tenant(wanted, this.clock.now());
    await this.database.system(() => this.tenants.add(tenant));
    return tenant;
  }

  /** All tenants, by key. */
  list(): Promise<Tenant[]> {
    return this.database.system(() => this.tenants.all());
  }
}
