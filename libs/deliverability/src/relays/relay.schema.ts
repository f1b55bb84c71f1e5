import { defineEntity, p } from '@mikro-orm/postgresql';
import type { RelayKind } from './kinds/kinds.js';
import { Relay } from './relay.js';
import type { RelayOptions, RelaySigning, RelayStatus, RelayStream, RelayTls } from './kinds/kind.js';

/** deliverability.relays */
export const RelaySchema = defineEntity({
  class: Relay,
  tableName: 'relays',
  schema: 'deliverability',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number').primary(),
    projectId: p.bigint('number'),
    relayKey: p.text(),
    name: p.text(),
    kind: p.string().$type<RelayKind>(),
    host: p.text(),
    port: p.integer(),
    tls: p.string().$type<RelayTls>(),
    username: p.text().nullable(),
    passwordBox: p.text().nullable(),
    options: p.json<RelayOptions>(),
    streams: p.array().columnType('text[]').$type<RelayStream[]>(),
    priority: p.integer(),
    weight: p.integer(),
    connections: p.integer(),
    ratePerSecond: p.float().nullable(),
    signing: p.string().$type<RelaySigning>(),
    status: p.string().$type<RelayStatus>(),
    failures: p.integer(),
    retryAt: p.datetime(3).nullable(),
    lastError: p.text().nullable(),
    lastUsedAt: p.datetime(3).nullable(),
    feedbackId: p.uuid(),
    feedbackKeyBox: p.text().nullable(),
    lastFeedbackAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});
