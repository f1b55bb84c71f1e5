import { defineEntity, p } from '@mikro-orm/postgresql';
import { DkimKeyPair } from '../dkim/dkim-key-pair.js';
import { DnsRecord, type DnsRecordStatus, type DnsRecordType, type RecordPurpose } from './dns-record.js';

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
