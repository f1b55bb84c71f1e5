import type { Tenant } from '#access';
import { unknown } from './find-project.js';

/** Finds a tenant by its key. Throws an `OperatorError` that lists the existing keys. */
export function findTenant(tenants: readonly Tenant[], tenantKey: string): Tenant {
  const tenant = tenants.find((candidate) => candidate.tenantKey === tenantKey);
  if (tenant !== undefined) return tenant;
  throw unknown(
    'tenant',
    tenantKey,
    tenants.map((candidate) => candidate.tenantKey),
  );
}
