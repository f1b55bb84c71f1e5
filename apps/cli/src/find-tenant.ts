import type { Tenant } from '#access';
import { unknown } from './find-project.js';

/** The tenant with this key, or an `OperatorError` that says which there are. */
export function findTenant(tenants: readonly Tenant[], tenantKey: string): Tenant {
  const tenant = tenants.find((candidate) => candidate.tenantKey === tenantKey);
  if (tenant !== undefined) return tenant;
  throw unknown(
    'tenant',
    tenantKey,
    tenants.map((candidate) => candidate.tenantKey),
  );
}
