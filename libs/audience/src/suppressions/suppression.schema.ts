import { defineEntity, p } from '@mikro-orm/postgresql';
import type { SuppressionReason } from '../consents/consent.js';
import { Suppression } from './suppression.js';

/** audience.suppressions. Erased addresses are in another table, which only SQL writes. */
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
