import { DAILY_MS, type DnsRecordStatus, nextEarlyCheck, VERIFICATION_PERIOD_MS } from './dns/dns-record.js';
import type { RecordVerdict } from './dns/record-verdict.js';

/** State of a host for links. */
export interface TrackingHost {
  readonly status: DnsRecordStatus;
  /** Begins with a `FailureCode`. */
  readonly lastError: string | null;
  /** Definite failures without a success between them. */
  readonly failures: number;
  readonly failingSince: Date | null;
  readonly checksStartedAt: Date;
  readonly checkedAt: Date | null;
  readonly verifiedAt: Date | null;
  /** Null: not until someone asks. */
  readonly nextCheckAt: Date | null;
}

const HOUR_MS = 60 * 60_000;
const FAILURES_UNTIL_GONE = 3;
const GONE_AFTER_MS = DAILY_MS;

export function newTrackingHost(now: Date): TrackingHost {
  return {
    status: 'PENDING',
    lastError: null,
    failures: 0,
    failingSince: null,
    checksStartedAt: now,
    checkedAt: null,
    verifiedAt: null,
    nextCheckAt: null,
  };
}

/**
 * The host after a look at it. A verified one stays so until it was wrong three times or more over a day or more: mails
 * that are read meanwhile would not be helped by a quicker judgement. What could not be found out says nothing about it.
 */
export function afterLook(host: TrackingHost, verdict: RecordVerdict, now: Date): TrackingHost {
  if (verdict.status === 'VERIFIED') return afterSuccess(host, now);
  const seen = { ...host, lastError: `${verdict.code}: ${verdict.reason}`, checkedAt: now };
  const isUnknown = verdict.code === 'DNS_ERROR';
  const failures = host.failures + (isUnknown ? 0 : 1);
  const failingSince = host.failingSince ?? (isUnknown ? null : now);
  const isGone =
    !isUnknown &&
    failures >= FAILURES_UNTIL_GONE &&
    now.getTime() - (failingSince ?? now).getTime() >= GONE_AFTER_MS;
  if (host.status === 'VERIFIED' && !isGone)
    return { ...seen, failures, failingSince, nextCheckAt: new Date(now.getTime() + HOUR_MS) };
  const begins = host.status === 'VERIFIED' || host.nextCheckAt === null;
  const checksStartedAt = begins ? now : host.checksStartedAt;
  const isOver = now.getTime() - checksStartedAt.getTime() >= VERIFICATION_PERIOD_MS;
  const nextCheckAt = isOver ? null : nextEarlyCheck(checksStartedAt, now);
  return { ...seen, status: 'FAILED', failures, failingSince, checksStartedAt, nextCheckAt };
}

function afterSuccess(host: TrackingHost, now: Date): TrackingHost {
  return {
    status: 'VERIFIED',
    lastError: null,
    failures: 0,
    failingSince: null,
    checksStartedAt: host.checksStartedAt,
    checkedAt: now,
    verifiedAt: host.verifiedAt ?? now,
    nextCheckAt: new Date(now.getTime() + DAILY_MS),
  };
}

/** The host by which the world reaches the api, without port; an address stands without brackets. */
export function publicHostOf({ PUBLIC_URL }: { readonly PUBLIC_URL: string }): string {
  return new URL(PUBLIC_URL).hostname.replace(/^\[(.*)\]$/, '$1');
}
