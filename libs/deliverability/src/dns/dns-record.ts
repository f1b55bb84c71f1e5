import type { DkimKeyPair } from '../dkim/dkim-key.js';
import type { RecordVerdict } from './record-verdict.js';

export const DNS_RECORD_TYPES = ['TXT', 'CNAME', 'MX'] as const;
export type DnsRecordType = (typeof DNS_RECORD_TYPES)[number];

export const DNS_RECORD_STATUSES = ['PENDING', 'VERIFIED', 'FAILED'] as const;
export type DnsRecordStatus = (typeof DNS_RECORD_STATUSES)[number];

export const RECORD_PURPOSES = ['OWNERSHIP', 'DKIM', 'SPF', 'MX', 'DMARC'] as const;
export type RecordPurpose = (typeof RECORD_PURPOSES)[number];

/** A record to publish. */
export interface NewDnsRecord {
  readonly purpose: RecordPurpose;
  readonly recordType: DnsRecordType;
  readonly host: string;
  readonly expectedValue: string;
}

/** Values that follow from the installation's settings, by purpose. */
export type SettingsValues = Readonly<Record<'SPF' | 'MX', string>>;

const FAILURES_UNTIL_BROKEN = 3;
const BROKEN_AFTER_MS = 72 * 60 * 60_000;

/** A record that a customer publishes, and what was last seen of it. */
export class DnsRecord implements NewDnsRecord {
  readonly id!: number;
  readonly environmentId: number;
  readonly domainId: number;
  readonly purpose!: RecordPurpose;
  readonly recordType!: DnsRecordType;
  readonly host!: string;
  expectedValue!: string;
  /** Expected before the installation's settings changed; null once the new value was found. */
  previousValue: string | null = null;
  actualValue: string | null = null;
  status: DnsRecordStatus = 'PENDING';
  /** Begins with a `FailureCode`. */
  failureReason: string | null = null;
  /** Possible improvement of a record that is right. */
  note: string | null = null;
  /** Definite failures without a success between them. */
  failures = 0;
  failingSince: Date | null = null;
  lastCheckedAt: Date | null = null;

  constructor(
    domain: { readonly id: number; readonly environmentId: number },
    wanted: NewDnsRecord,
    /** The key that a DKIM record publishes. */
    readonly key: DkimKeyPair | null = null,
  ) {
    this.environmentId = domain.environmentId;
    this.domainId = domain.id;
    Object.assign(this, wanted);
  }

  /** Notes what a look at it found. What could not be found out changes neither status nor count. */
  see(verdict: RecordVerdict, now: Date): void {
    this.lastCheckedAt = now;
    this.failureReason =
      verdict.status === 'FAILED' ? `${verdict.code}: ${verdict.reason}${this.changeNotice}` : null;
    if (verdict.status === 'FAILED' && verdict.code === 'DNS_ERROR') {
      if (this.status === 'PENDING') this.status = 'FAILED';
      return;
    }
    const isRight = verdict.status === 'VERIFIED';
    this.status = verdict.status;
    this.actualValue = verdict.actualValue;
    this.note = isRight ? verdict.note : null;
    this.failures = isRight ? 0 : this.failures + 1;
    this.failingSince = isRight ? null : (this.failingSince ?? now);
    if (isRight) this.previousValue = null;
  }

  /** Asks for another value from now on; the one that was found before counts no more. */
  replace(expectedValue: string): void {
    this.previousValue = this.expectedValue;
    this.expectedValue = expectedValue;
    this.forget();
  }

  private get changeNotice(): string {
    return this.previousValue === null
      ? ''
      : `. Replace ${this.previousValue}: the mail server’s host has changed`;
  }

  /** Resets earlier results: it is checked again as if it were new. */
  forget(): void {
    this.lastCheckedAt = null;
    this.failureReason = null;
    this.status = 'PENDING';
    this.actualValue = null;
    this.note = null;
    this.failures = 0;
    this.failingSince = null;
  }

  /** The last check found it as it should be. */
  get isRight(): boolean {
    return this.status === 'VERIFIED' && this.failureReason === null;
  }

  /** The last check found it wrong, rather than no answer. */
  get isWrong(): boolean {
    return this.status === 'FAILED' && !this.isUnknown;
  }

  /** The last check got no answer. */
  get isUnknown(): boolean {
    return this.failureReason?.startsWith('DNS_ERROR') === true;
  }

  /** Wrong three times or more in a row, over 72 hours or more. */
  isBroken(now: Date): boolean {
    return (
      this.isWrong &&
      this.failures >= FAILURES_UNTIL_BROKEN &&
      this.failingSince !== null &&
      now.getTime() - this.failingSince.getTime() >= BROKEN_AFTER_MS
    );
  }

  /** Mail depends on it now: not the record of a next or retired key. */
  get isInForce(): boolean {
    return this.key === null || this.key.state === 'ACTIVE';
  }

  /** The customer must publish it: all but that of a retired key. */
  get isRequired(): boolean {
    return this.key?.state !== 'RETIRED';
  }
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** After this long without success a domain is given up, until someone asks again. */
export const VERIFICATION_PERIOD_MS = 72 * HOUR_MS;
/** Between the checks of a verified domain. */
export const DAILY_MS = 24 * HOUR_MS;

const EARLY_MS = [1, 5, 15, 60].map((minutes) => minutes * MINUTE_MS);
const THEN_EVERY_MS = 6 * HOUR_MS;

/** The check after `now` of what began at `startedAt`: 1, 5, 15 min, 1 h, then 6-hourly and once more at 72 h. */
export function nextEarlyCheck(startedAt: Date, now: Date): Date {
  const begin = startedAt.getTime();
  const elapsed = now.getTime() - begin;
  const early = EARLY_MS.find((step) => step > elapsed);
  if (early !== undefined) return new Date(begin + early);
  const [lastEarly = 0] = EARLY_MS.slice(-1);
  const round = Math.floor((elapsed - lastEarly) / THEN_EVERY_MS) + 1;
  const next = lastEarly + round * THEN_EVERY_MS;
  const passesTheEnd = elapsed < VERIFICATION_PERIOD_MS && next > VERIFICATION_PERIOD_MS;
  return new Date(begin + (passesTheEnd ? VERIFICATION_PERIOD_MS : next));
}
