import { defineEntity, p } from '@mikro-orm/postgresql';
import type { SuppressionReason } from '../consents/subscriber-status.js';
import { Suppression } from './suppression.js';

/** audience.suppressions. Those of erased addresses are rows of another table, which SQL alone writes. */
export const SuppressionSchema = defineEntity({
  class: Suppression,
  tableName: 'suppressions',
  schema: 'audience',
  properties: {
    environmentId: p.bigint('number').primary(),
    emailKey: p.text().primary(),
    email: p.text(),
    reason: p.string().$type<SuppressionReason>(),
    suppressedAt: p.datetime(3),
  },
});
