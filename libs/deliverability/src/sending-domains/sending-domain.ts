import { DAILY_MS, nextEarlyCheck, VERIFICATION_PERIOD_MS } from './check-schedule.js';
import { type DnsRecord, isBroken, isInForce, isRight, isUnknown, isWrong } from '../dns/dns-record.js';
import { healthScore } from './health-score.js';

export const SENDING_DOMAIN_STATUSES = [
  'PENDING_VERIFICATION',
  'ACTIVE',
  'VERIFICATION_FAILED',
  'DEGRADED',
  'SUSPENDED',
  'BLOCKED',
  'EXPIRED',
] as const;
export type SendingDomainStatus = (typeof SENDING_DOMAIN_STATUSES)[number];

/** CUSTOM is the customer's own; SYSTEM would be one that the operator lends. */
export const SENDING_DOMAIN_TYPES = ['CUSTOM', 'SYSTEM'] as const;
export type SendingDomainType = (typeof SENDING_DOMAIN_TYPES)[number];

/** How long a domain may be DEGRADED before it is EXPIRED and its name is free for others. */
const EXPIRY_MS = 30 * 24 * 60 * 60_000;

/** What changes in the life of a domain. */
export interface DomainState {
  readonly status: SendingDomainStatus;
  readonly sendingAllowed: boolean;
  readonly healthScore: number | null;
  readonly suspensionReason: string | null;
  readonly verificationAttempts: number;
  /** When the schedule of checks began. */
  readonly checksStartedAt: Date;
  readonly lastCheckedAt: Date | null;
  /** Null: not until someone asks. */
  readonly nextCheckAt: Date | null;
  /** Since when it is the customer's; null while it waits for its first verification, or for a new one. */
  readonly verifiedAt: Date | null;
  /** When it is given up, as things stand. */
  readonly expiresAt: Date | null;
}

/** The domain that a project's mail comes from; one for each environment. */
export interface SendingDomain extends DomainState {
  readonly id: number;
  readonly domainName: string;
  readonly domainType: SendingDomainType;
  readonly returnPathHost: string;
  /** Grows with each change of the name. */
  readonly revision: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Whether a domain of this status counts as the customer's, from whom mail may come. */
export function isVerified(status: SendingDomainStatus): boolean {
  return status === 'ACTIVE' || status === 'DEGRADED';
}

/** Whether the operator has stopped it: then the customer can neither change nor remove it. */
export function isStopped(status: SendingDomainStatus): boolean {
  return status === 'SUSPENDED' || status === 'BLOCKED';
}

/** A domain whose records are to be published from now on. */
export function newDomainState(now: Date): DomainState {
  return {
    ...pending(now),
    healthScore: null,
    suspensionReason: null,
    verificationAttempts: 0,
    lastCheckedAt: null,
  };
}

/** The state after all records were looked at. */
export function afterCheck(domain: DomainState, records: readonly DnsRecord[], now: Date): DomainState {
  const checked: DomainState = {
    ...domain,
    healthScore: healthScore(records),
    lastCheckedAt: now,
    verificationAttempts: domain.verificationAttempts + 1,
  };
  if (isStopped(domain.status)) return { ...checked, nextCheckAt: new Date(now.getTime() + DAILY_MS) };
  const inForce = records.filter(isInForce);
  const next = isVerified(domain.status)
    ? afterVerification(checked, inForce, now)
    : beforeVerification(checked, inForce, now);
  return { ...next, nextCheckAt: soonerWhileKeysChange(next.nextCheckAt, records, now, domain) };
}

/** The operator stops it. What is not verified by then, an expired domain say, takes no name and begins anew afterwards. */
export function suspended(domain: DomainState, reason: string): DomainState {
  return {
    ...domain,
    status: 'SUSPENDED',
    suspensionReason: reason,
    sendingAllowed: false,
    verifiedAt: isVerified(domain.status) ? domain.verifiedAt : null,
    expiresAt: null,
  };
}

/** The operator lets it go on: as what its records say by now, which are looked at soon. */
export function resumed(domain: DomainState, records: readonly DnsRecord[], now: Date): DomainState {
  const released = { ...domain, suspensionReason: null };
  if (domain.verifiedAt === null) return { ...released, ...pending(now) };
  const next = afterVerification(
    { ...released, status: 'ACTIVE', sendingAllowed: true },
    records.filter(isInForce),
    now,
  );
  return { ...next, nextCheckAt: now };
}

function beforeVerification(domain: DomainState, inForce: readonly DnsRecord[], now: Date): DomainState {
  if (inForce.every(isRight)) return active({ ...domain, verifiedAt: now }, now);
  // Somebody asked: it begins anew.
  if (domain.status !== 'PENDING_VERIFICATION') return { ...domain, ...pending(now) };
  const isOver = now.getTime() - domain.checksStartedAt.getTime() >= VERIFICATION_PERIOD_MS;
  if (isOver && inForce.some(isWrong))
    return { ...domain, status: 'VERIFICATION_FAILED', nextCheckAt: null, expiresAt: null };
  return { ...domain, nextCheckAt: nextEarlyCheck(domain.checksStartedAt, now) };
}

function afterVerification(domain: DomainState, inForce: readonly DnsRecord[], now: Date): DomainState {
  if (inForce.every(({ status }) => status === 'VERIFIED')) return active(domain, now);
  const isDegraded = domain.status === 'DEGRADED';
  const broken = inForce.filter((record) => isBroken(record, now));
  const nextCheckAt = new Date(now.getTime() + DAILY_MS);
  const sendingAllowed = mayStillSend(domain, inForce, now);
  if (broken.length === 0) return { ...domain, sendingAllowed, nextCheckAt };
  if (isDegraded && domain.expiresAt !== null && now >= domain.expiresAt) {
    return { ...domain, status: 'EXPIRED', sendingAllowed: false, nextCheckAt: null };
  }
  return {
    ...domain,
    status: 'DEGRADED',
    sendingAllowed,
    nextCheckAt,
    expiresAt: isDegraded ? domain.expiresAt : new Date(now.getTime() + EXPIRY_MS),
  };
}

/** Few receivers know Ed25519 (RFC 8463): without the RSA key, a mail counts as not signed. */
function mayStillSend(domain: DomainState, inForce: readonly DnsRecord[], now: Date): boolean {
  const rsa = inForce.filter(({ key }) => key?.algorithm === 'rsa-sha256');
  if (rsa.some(isUnknown)) return domain.sendingAllowed;
  return !rsa.some((record) => isBroken(record, now));
}

function active(domain: DomainState, now: Date): DomainState {
  return {
    ...domain,
    status: 'ACTIVE',
    sendingAllowed: true,
    expiresAt: null,
    nextCheckAt: new Date(now.getTime() + DAILY_MS),
  };
}

function pending(now: Date) {
  return {
    status: 'PENDING_VERIFICATION' as const,
    sendingAllowed: false,
    checksStartedAt: now,
    nextCheckAt: nextEarlyCheck(now, now),
    verifiedAt: null,
    expiresAt: new Date(now.getTime() + VERIFICATION_PERIOD_MS),
  };
}

/** New keys wait for their records: those are looked for as often as those of a new domain. */
function soonerWhileKeysChange(
  next: Date | null,
  records: readonly DnsRecord[],
  now: Date,
  { checksStartedAt }: DomainState,
): Date | null {
  if (next === null || !records.some(({ key }) => key?.state === 'NEXT')) return next;
  const early = nextEarlyCheck(checksStartedAt, now);
  return early < next ? early : next;
}
