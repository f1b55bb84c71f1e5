import { defineEntity, p } from '@mikro-orm/postgresql';
import { Tenant } from './tenant.js';

/** access.tenants */
export const TenantSchema = defineEntity({
  class: Tenant,
  tableName: 'tenants',
  schema: 'access',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    tenantKey: p.text(),
    name: p.text(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});
