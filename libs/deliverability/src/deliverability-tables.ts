import type { Generated } from 'kysely';
import type { Tables } from '#platform';
import type { BounceClass } from './bounces/bounce-class.js';
import { DkimKeyPairSchema } from './dkim/dkim-key-pair.schema.js';
import { DnsRecordSchema } from './dns/dns-record.schema.js';
import { RelaySchema } from './relays/relay.schema.js';
import { SendingDomainSchema } from './sending-domains/sending-domain.schema.js';
import type { TrackingHost } from './tracking-hosts/tracking-host.js';

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
