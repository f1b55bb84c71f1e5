import { defineEntity, p } from '@mikro-orm/postgresql';
import type { Generated } from 'kysely';
import type { Tables } from '#platform';
import type { BounceClass } from './bounces/bounce-class.js';
import { type DkimAlgorithm, DkimKeyPair, type DkimKeyState } from './dkim/dkim-key.js';
import { DnsRecord, type DnsRecordStatus, type DnsRecordType, type RecordPurpose } from './dns/dns-record.js';
import type { RelayOptions, RelaySigning, RelayStatus, RelayStream, RelayTls } from './relays/kinds/kind.js';
import type { RelayKind } from './relays/kinds/kinds.js';
import { Relay } from './relays/relay.js';
import {
  SendingDomain,
  type SendingDomainStatus,
  type SendingDomainType,
} from './sending-domains/sending-domain.js';
import type { TrackingHost } from './tracking-host.js';

/** deliverability.dkim_keys; their private halves are read by who signs alone. */
export const DkimKeyPairSchema = defineEntity({
  class: DkimKeyPair,
  tableName: 'dkim_keys',
  schema: 'deliverability',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    environmentId: p.bigint('number'),
    domainId: p.bigint('number'),
    selector: p.text(),
    algorithm: p.string().$type<DkimAlgorithm>(),
    publicKey: p.text(),
    privateKeyBox: p.text().lazy(),
    state: p.string().$type<DkimKeyState>(),
    createdAt: p.datetime(3),
    retiredAt: p.datetime(3).nullable(),
  },
});

/** deliverability.dns_records */
export const DnsRecordSchema = defineEntity({
  class: DnsRecord,
  tableName: 'dns_records',
  schema: 'deliverability',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    environmentId: p.bigint('number'),
    domainId: p.bigint('number'),
    key: () => p.manyToOne(DkimKeyPair).nullable().fieldName('dkim_key_id'),
    purpose: p.string().$type<RecordPurpose>(),
    recordType: p.string().$type<DnsRecordType>(),
    host: p.text(),
    expectedValue: p.text(),
    previousValue: p.text().nullable(),
    actualValue: p.text().nullable(),
    status: p.string().$type<DnsRecordStatus>(),
    failureReason: p.text().nullable(),
    note: p.text().nullable(),
    failures: p.integer(),
    failingSince: p.datetime(3).nullable(),
    lastCheckedAt: p.datetime(3).nullable(),
  },
});

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

export const deliverabilityEntities = [DkimKeyPairSchema, DnsRecordSchema, RelaySchema, SendingDomainSchema];

interface DomainChecksTable {
  readonly id: string;
  readonly environmentId: number;
  readonly domainId: number;
  readonly askedBy: 'CLIENT' | 'SCHEDULE';
  readonly state: Generated<'PENDING' | 'DONE'>;
  readonly createdAt: Date;
}

interface ReportsTable {
  readonly deliveryId: string;
  readonly kind: 'BOUNCE' | 'COMPLAINT';
  readonly environmentId: number;
  readonly bounceClass: BounceClass | null;
  readonly basicCode: number | null;
  readonly enhancedCode: string | null;
  readonly excerpt: string | null;
  readonly namesMessage: boolean | null;
  readonly reportedAt: Date;
}

interface SlowedDestinationsTable {
  readonly destination: string;
  readonly slowedAt: Date;
  readonly slowUntil: Date;
}

interface TrackingHostsTable extends TrackingHost {
  readonly projectId: number;
  readonly namedIn: number;
  readonly host: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

interface WarmUpDaysTable {
  readonly environmentId: number;
  readonly domainId: number;
  readonly startsAt: Date;
  readonly mails: number;
}

/** The tables of the schema `deliverability` but for the budgets of destinations, which its SQL functions alone know. */
export type DeliverabilityTables = Tables<
  'deliverability',
  typeof DkimKeyPairSchema | typeof DnsRecordSchema | typeof RelaySchema | typeof SendingDomainSchema
> & {
  'deliverability.domain_checks': DomainChecksTable;
  'deliverability.reports': ReportsTable;
  'deliverability.slowed_destinations': SlowedDestinationsTable;
  'deliverability.tracking_hosts': TrackingHostsTable;
  'deliverability.warm_up_days': WarmUpDaysTable;
};
