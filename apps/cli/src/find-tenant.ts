import type { TenantsService } from '#access';
import { unknown } from './find-project.js';

/** The tenant of that key. Says which there are when there is none. */
export async function findTenant(
  tenants: TenantsService,
  tenantKey: string,
): Promise<Awaited<ReturnType<TenantsService['list']>>[number]> {
  const known = await tenants.list();
  const tenant = known.find((candidate) => candidate.tenantKey === tenantKey);
  if (tenant !== undefined) return tenant;
  throw unknown(
    'tenant',
    tenantKey,
    known.map((candidate) => candidate.tenantKey),
  );
}
