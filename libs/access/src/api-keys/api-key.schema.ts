import { defineEntity, p } from '@mikro-orm/postgresql';
import { ApiKey } from './api-key.js';

/** access.api_keys. Who calls is looked up by SQL (`findApiKey`), before there is a scope. */
export const ApiKeySchema = defineEntity({
  class: ApiKey,
  tableName: 'api_keys',
  schema: 'access',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number'),
    name: p.text(),
    keyHash: p.blob(),
    prefix: p.text(),
    lastFour: p.text(),
    scopes: p.array().columnType('text[]'),
    rateLimitPerMinute: p.integer().nullable(),
    createdAt: p.datetime(3),
    expiresAt: p.datetime(3).nullable(),
    revokedAt: p.datetime(3).nullable(),
  },
});
