import type { DkimAlgorithm } from '../dkim/dkim-key.js';
import type { RecordVerdict } from './record-verdict.js';

export const DNS_RECORD_TYPES = ['TXT', 'CNAME', 'MX'] as const;
export type DnsRecordType = (typeof DNS_RECORD_TYPES)[number];

export const DNS_RECORD_STATUSES = ['PENDING', 'VERIFIED', 'FAILED'] as const;
export type DnsRecordStatus = (typeof DNS_RECORD_STATUSES)[number];

export const RECORD_PURPOSES = ['OWNERSHIP', 'DKIM', 'SPF', 'MX', 'DMARC'] as const;
export type RecordPurpose = (typeof RECORD_PURPOSES)[number];

/** NEXT is published and does not sign yet; RETIRED signs no more. */
export type DkimKeyState = 'NEXT' | 'ACTIVE' | 'RETIRED';

/** What is to be published. */
export interface NewDnsRecord {
  readonly purpose: RecordPurpose;
  readonly recordType: DnsRecordType;
  readonly host: string;
  readonly expectedValue: string;
}

/** A record that a customer publishes, and what was last seen of it. */
export interface DnsRecord extends NewDnsRecord {
  readonly id: number;
  readonly actualValue: string | null;
  readonly status: DnsRecordStatus;
  /** Begins with a `FailureCode`. */
  readonly failureReason: string | null;
  /** What could be better about a record that is right. */
  readonly note: string | null;
  /** Definite failures without a success between them. */
  readonly failures: number;
  readonly failingSince: Date | null;
  readonly lastCheckedAt: Date | null;
  /** The key that a DKIM record publishes. */
  readonly key: {
    readonly state: DkimKeyState;
    readonly algorithm: DkimAlgorithm;
    readonly retiredAt: Date | null;
  } | null;
}

const FAILURES_UNTIL_BROKEN = 3;
const BROKEN_AFTER_MS = 72 * 60 * 60_000;

/** The record after one look at it. What could not be found out changes neither status nor count. */
export function afterLook(record: DnsRecord, verdict: RecordVerdict, now: Date): DnsRecord {
  const looked = { ...record, lastCheckedAt: now };
  if (verdict.status === 'VERIFIED') {
    const { actualValue, note } = verdict;
    return {
      ...looked,
      actualValue,
      note,
      status: 'VERIFIED',
      failureReason: null,
      failures: 0,
      failingSince: null,
    };
  }
  const failureReason = `${verdict.code}: ${verdict.reason}`;
  if (verdict.code === 'DNS_ERROR') {
    return { ...looked, failureReason, status: record.status === 'VERIFIED' ? 'VERIFIED' : 'FAILED' };
  }
  return {
    ...looked,
    failureReason,
    actualValue: verdict.actualValue,
    note: null,
    status: 'FAILED',
    failures: record.failures + 1,
    failingSince: record.failingSince ?? now,
  };
}

/** Whether the last look found it as it should be. */
export function isRight(record: DnsRecord): boolean {
  return record.status === 'VERIFIED' && record.failureReason === null;
}

/** Whether the last look found it wrong, and not only could not find out. */
export function isWrong(record: DnsRecord): boolean {
  return record.status === 'FAILED' && !isUnknown(record);
}

/** Whether the last look found nothing out. */
export function isUnknown({ failureReason }: DnsRecord): boolean {
  return failureReason?.startsWith('DNS_ERROR') === true;
}

/** Wrong three times or more in a row, over 72 hours or more. */
export function isBroken(record: DnsRecord, now: Date): boolean {
  return (
    isWrong(record) &&
    record.failures >= FAILURES_UNTIL_BROKEN &&
    record.failingSince !== null &&
    now.getTime() - record.failingSince.getTime() >= BROKEN_AFTER_MS
  );
}

/** Whether mail depends on it now: not the record of a key that is to come, or is gone. */
export function isInForce({ key }: DnsRecord): boolean {
  return key === null || key.state === 'ACTIVE';
}

/** Whether the customer is to have it in DNS: all but that of a key that signs no more. */
export function isRequired({ key }: DnsRecord): boolean {
  return key?.state !== 'RETIRED';
}
