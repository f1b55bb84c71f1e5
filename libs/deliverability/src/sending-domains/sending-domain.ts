import { InvalidStateError, type ProjectScope } from '#kernel';
import type { NewDkimKey } from '../dkim/dkim-key-pair.js';
import {
  DnsRecord,
  type NewDnsRecord,
  RECORD_PURPOSES,
  type RecordPurpose,
  type SettingsValues,
} from '../dns/dns-record.js';
import { asAnothers } from '../dns/ownership-check.js';
import type { RecordVerdict } from '../dns/record-verdict.js';
import { DAILY_MS, nextEarlyCheck, VERIFICATION_PERIOD_MS } from './check-schedule.js';
import { hasNextKeys, isSignatureKnown, recordsOfKeys, switchKeys } from './domain-keys.js';
import { healthScore } from './health-score.js';
import {
  isStopped,
  isVerified,
  SENDING_DOMAIN_STATUSES,
  type SendingDomainStatus,
  type SendingDomainType,
} from './sending-domain-status.js';

/** How long a domain may be DEGRADED before it is EXPIRED and its name is free for others. */
const EXPIRY_MS = 30 * 24 * 60 * 60_000;

/** The domain that a project's mail comes from; one for each environment. */
export class SendingDomain {
  readonly id!: number;
  readonly tenantId: number;
  readonly projectId: number;
  readonly environmentId: number;
  domainName!: string;
  readonly domainType: SendingDomainType = 'CUSTOM';
  /** The host below the name that undeliverable mail returns to. */
  returnPathHost!: string;
  /** Grows with each change of the name or of what the records have to say. */
  revision = 0;
  status!: SendingDomainStatus;
  sendingAllowed!: boolean;
  healthScore!: number | null;
  suspensionReason!: string | null;
  verificationAttempts!: number;
  /** When the schedule of checks began. */
  checksStartedAt!: Date;
  lastCheckedAt!: Date | null;
  /** Null: not until someone asks. */
  nextCheckAt!: Date | null;
  /** Since when it is the customer's; null while it waits for its first verification, or for a new one. */
  verifiedAt!: Date | null;
  /** When it is given up, as things stand. */
  expiresAt!: Date | null;
  readonly createdAt: Date;
  updatedAt!: Date;
  /** What its owner publishes, in the order in which it is explained; its repository reads and writes it beside it. */
  records: DnsRecord[] = [];
  /** The purposes of those that the project's relays need; read beside it as well. */
  needed: ReadonlySet<RecordPurpose> = new Set(RECORD_PURPOSES);

  constructor(scope: ProjectScope, domainName: string, returnPathHost: string, now: Date) {
    this.tenantId = scope.tenantId;
    this.projectId = scope.projectId;
    this.environmentId = scope.environmentId;
    this.createdAt = now;
    this.rename(domainName, returnPathHost, now);
  }

  /** Those that are to stand in DNS now. */
  get requiredRecords(): DnsRecord[] {
    return this.records.filter(({ isRequired, purpose }) => isRequired && this.needed.has(purpose));
  }

  /** Gives it another name, or its first: to be verified anew. */
  rename(domainName: string, returnPathHost: string, now: Date): void {
    this.domainName = domainName;
    this.returnPathHost = returnPathHost;
    this.revision += 1;
    this.healthScore = null;
    this.suspensionReason = null;
    this.verificationAttempts = 0;
    this.lastCheckedAt = null;
    this.wait(now);
    this.updatedAt = now;
  }

  /** Says what its owner publishes from now on; `keys` sign at once. It has its id by then. */
  publish(records: readonly NewDnsRecord[], keys: readonly NewDkimKey[], now: Date): void {
    const others = records.map((record) => new DnsRecord(this, record));
    this.records = [...others, ...recordsOfKeys(this, keys, 'ACTIVE', now)];
  }

  /** Asks for the values that the installation's settings ask for by now. False when it did already. */
  follow(values: SettingsValues, now: Date): boolean {
    const outdated = this.records.filter(
      ({ purpose, expectedValue }) =>
        (purpose === 'SPF' || purpose === 'MX') && values[purpose] !== expectedValue,
    );
    for (const record of outdated) record.replace(values[record.purpose as keyof SettingsValues]);
    if (outdated.length === 0) return false;
    this.revision += 1;
    this.updatedAt = now;
    return true;
  }

  /** Adds keys, which sign once their records have been found in DNS. Throws `InvalidStateError`. */
  rotateKeys(keys: readonly NewDkimKey[], now: Date): void {
    this.refuseUnless(isVerified, 'Only a verified domain changes its keys.');
    if (hasNextKeys(this.records)) this.refuseUnless(() => false, 'New keys wait for their records already.');
    this.refuseUnless(() => this.needed.has('DKIM'), 'No relay sends mail that its keys sign.');
    this.records.push(...recordsOfKeys(this, keys, 'NEXT', now));
    this.checksStartedAt = now;
    this.nextCheckAt = nextEarlyCheck(now, now);
    this.updatedAt = now;
  }

  /** Nobody gets out of a suspension with a new set-up. Throws `InvalidStateError`. */
  refuseIfStopped(): void {
    this.refuseUnless((status) => !isStopped(status), 'The operator has stopped this sending domain.');
  }

  /**
   * The operator stops it. What is not verified by then, an expired domain say, takes no name and begins anew afterwards.
   * Throws `InvalidStateError`.
   */
  suspend(reason: string, now: Date): void {
    this.refuseIfStopped();
    if (!isVerified(this.status)) this.verifiedAt = null;
    this.status = 'SUSPENDED';
    this.suspensionReason = reason;
    this.sendingAllowed = false;
    this.expiresAt = null;
    this.updatedAt = now;
  }

  /** The operator lets it go on: as what its records say by now, which are looked at soon. Throws `InvalidStateError`. */
  resume(now: Date): void {
    this.refuseUnless((status) => status === 'SUSPENDED', 'It is not suspended.');
    this.suspensionReason = null;
    this.updatedAt = now;
    if (this.verifiedAt === null) return this.wait(now);
    this.status = 'ACTIVE';
    this.sendingAllowed = true;
    this.afterVerification(now);
    this.nextCheckAt = now;
  }

  /** Notes a look at its records, by their ids. `isAnothers`: another tenant has verified the name before. */
  check(verdicts: ReadonlyMap<number, RecordVerdict>, isAnothers: boolean, now: Date): void {
    for (const record of this.records) {
      const verdict = verdicts.get(record.id);
      if (!this.needed.has(record.purpose)) record.forget();
      else if (verdict !== undefined) record.see(isAnothers ? asAnothers(record, verdict) : verdict, now);
    }
    switchKeys(this.requiredRecords, now);
    this.healthScore = healthScore(this.requiredRecords);
    this.lastCheckedAt = now;
    this.verificationAttempts += 1;
    this.updatedAt = now;
    this.nextCheckAt = new Date(now.getTime() + DAILY_MS);
    if (isStopped(this.status)) return;
    if (isVerified(this.status)) this.afterVerification(now);
    else this.beforeVerification(now);
    // New keys wait for their records: those are looked for as often as those of a new domain.
    const early = nextEarlyCheck(this.checksStartedAt, now);
    if (hasNextKeys(this.requiredRecords) && this.nextCheckAt > early) this.nextCheckAt = early;
  }

  private get inForce(): DnsRecord[] {
    return this.requiredRecords.filter(({ isInForce }) => isInForce);
  }

  private beforeVerification(now: Date): void {
    const isOver = now.getTime() - this.checksStartedAt.getTime() >= VERIFICATION_PERIOD_MS;
    if (this.inForce.every(({ isRight }) => isRight)) {
      this.verifiedAt = now;
      this.activate();
    } else if (this.status !== 'PENDING_VERIFICATION') {
      // Somebody asked: it begins anew.
      this.wait(now);
    } else if (isOver && this.inForce.some(({ isWrong }) => isWrong)) {
      this.status = 'VERIFICATION_FAILED';
      this.nextCheckAt = null;
      this.expiresAt = null;
    } else this.nextCheckAt = nextEarlyCheck(this.checksStartedAt, now);
  }

  private afterVerification(now: Date): void {
    if (this.inForce.every(({ status }) => status === 'VERIFIED')) return this.activate();
    this.sendingAllowed = isSignatureKnown(this.inForce, now) ?? this.sendingAllowed;
    if (!this.inForce.some((record) => record.isBroken(now))) return;
    if (this.status !== 'DEGRADED') {
      this.status = 'DEGRADED';
      this.expiresAt = new Date(now.getTime() + EXPIRY_MS);
    } else if (this.expiresAt !== null && now >= this.expiresAt) {
      this.status = 'EXPIRED';
      this.sendingAllowed = false;
      this.nextCheckAt = null;
    }
  }

  private activate(): void {
    this.status = 'ACTIVE';
    this.sendingAllowed = true;
    this.expiresAt = null;
  }

  private wait(now: Date): void {
    this.status = 'PENDING_VERIFICATION';
    this.sendingAllowed = false;
    this.checksStartedAt = now;
    this.nextCheckAt = nextEarlyCheck(now, now);
    this.verifiedAt = null;
    this.expiresAt = new Date(now.getTime() + VERIFICATION_PERIOD_MS);
  }

  private refuseUnless(isAllowed: (status: SendingDomainStatus) => boolean, message: string): void {
    if (isAllowed(this.status)) return;
    throw new InvalidStateError(message, this.status, SENDING_DOMAIN_STATUSES.filter(isAllowed));
  }
}
