import { UniqueConstraintViolationException } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { Database } from '#platform';
import { TenantAlreadyExistsError } from './tenant.errors.js';
import { Tenant } from './tenant.js';

/** Reads and writes tenants in the open transaction of the system. */
@Injectable()
export class TenantRepository {
  constructor(private readonly database: Database) {}

  /** Throws `TenantAlreadyExistsError`; the transaction is lost then. */
  async add(tenant: Tenant): Promise<void> {
    try {
      await this.database.em.persist(tenant).flush();
    } catch (error) {
      if (error instanceof UniqueConstraintViolationException)
        throw new TenantAlreadyExistsError(tenant.tenantKey);
      throw error;
    }
  }

  find(id: number): Promise<Tenant | null> {
    return this.database.em.findOne(Tenant, { id });
  }

  /** By key. */
  all(): Promise<Tenant[]> {
    return this.database.em.find(Tenant, {}, { orderBy: { tenantKey: 'asc' } });
  }
}
