import { defineEntity, p } from '@mikro-orm/postgresql';
import type { SendingDomainStatus, SendingDomainType } from './sending-domain-status.js';
import { SendingDomain } from './sending-domain.js';

/** deliverability.sending_domains */
export const SendingDomainSchema = defineEntity({
  class: SendingDomain,
  tableName: 'sending_domains',
  schema: 'deliverability',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    tenantId: p.bigint('number'),
    projectId: p.bigint('number'),
    environmentId: p.bigint('number'),
    domainName: p.text(),
    domainType: p.string().$type<SendingDomainType>(),
    returnPathHost: p.text(),
    revision: p.integer(),
    status: p.string().$type<SendingDomainStatus>(),
    sendingAllowed: p.boolean(),
    healthScore: p.integer().nullable(),
    suspensionReason: p.text().nullable(),
    verificationAttempts: p.integer(),
    checksStartedAt: p.datetime(3),
    lastCheckedAt: p.datetime(3).nullable(),
    nextCheckAt: p.datetime(3).nullable(),
    verifiedAt: p.datetime(3).nullable(),
    expiresAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});
