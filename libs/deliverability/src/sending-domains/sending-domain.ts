import { parse } from 'tldts';
import { DomainError, hostName, InvalidStateError, type ProjectScope } from '#kernel';
import { DkimKeyPair, type DkimKeyState, dkimRecord, type NewDkimKey } from '../dkim/dkim-key.js';
import { tellsDmarcFault } from '../dns/dmarc-policy.js';
import {
  DAILY_MS,
  DnsRecord,
  type NewDnsRecord,
  nextEarlyCheck,
  RECORD_PURPOSES,
  type RecordPurpose,
  type SettingsValues,
  VERIFICATION_PERIOD_MS,
} from '../dns/dns-record.js';
import { failed, type RecordVerdict } from '../dns/record-verdict.js';

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

/** A domain of this status counts as the customer's, from whom mail may come. */
export function isVerified(status: SendingDomainStatus): boolean {
  return status === 'ACTIVE' || status === 'DEGRADED';
}

/** The operator has stopped it: the customer can neither change nor remove it. */
export function isStopped(status: SendingDomainStatus): boolean {
  return status === 'SUSPENDED' || status === 'BLOCKED';
}

/** The environment has a domain already, or another tenant has proved that the name is theirs. */
export class SendingDomainExistsError extends DomainError {
  override readonly code = 'already-exists';

  constructor(readonly reason: 'one-each' | 'taken') {
    super(
      reason === 'one-each'
        ? 'This environment has a sending domain already: change it instead.'
        : 'Another account has verified this domain.',
    );
  }
}

/** Time for which a domain may be DEGRADED before it is EXPIRED and its name is free for others. */
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
  /** The records that its owner publishes, in the order of the instructions; read and written by its repository. */
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

  /** The records that must stand in DNS now. */
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

/** Room below the 253 characters of a host name (RFC 1035 §2.3.4) for `<selector>._domainkey.` and its like. */
const MAX_LENGTH = 200;

/** Reserved for trying out and for examples (RFC 6761 §6.2, §6.5): verified only where `DNS_SERVERS` has such zones. */
const FOR_TRIALS: ReadonlySet<string> = new Set(['test', 'example']);

/** On the list, and never in the DNS (RFC 7686 §2). */
const NEVER_IN_DNS = 'onion';

export type DomainNameResult = { readonly name: string } | { readonly fault: string };

/** The domain that `input` means, as lower-case A-labels (RFC 5890), or what keeps it from being a sending domain. */
export function parseDomainName(input: string): DomainNameResult {
  const name = hostName(input.trim());
  if (name === null) return { fault: 'is not a domain name such as news.example.com' };
  if (name.length > MAX_LENGTH) return { fault: `is longer than ${MAX_LENGTH} characters` };
  // The Public Suffix List: what nobody can register is nobody's.
  const { domain, isIcann, isPrivate, publicSuffix } = parse(name, { allowPrivateDomains: true });
  const isListed = isIcann === true || isPrivate === true || FOR_TRIALS.has(publicSuffix ?? '');
  if (domain === null || !isListed || publicSuffix === NEVER_IN_DNS)
    return { fault: 'is not a domain that one can register, or one below it' };
  return { name };
}

/** The zone that a registrar's form is about, and `host` as it is written there: `@` for the zone itself. */
export function relativeToZone(
  host: string,
  domainName: string,
): { readonly zone: string; readonly label: string } {
  const zone = parse(domainName, { allowPrivateDomains: true }).domain ?? domainName;
  return { zone, label: host === zone ? '@' : host.slice(0, -zone.length - 1) };
}

/** Keys of a domain in a state, with the records that publish them. */
export function recordsOfKeys(
  domain: { readonly id: number; readonly environmentId: number; readonly domainName: string },
  keys: readonly NewDkimKey[],
  state: DkimKeyState,
  now: Date,
): DnsRecord[] {
  return keys.map((made) => {
    const { selector, algorithm, publicKey } = made;
    const host = `${selector}._domainkey.${domain.domainName}`;
    const expectedValue = dkimRecord(algorithm, publicKey);
    const wanted = { purpose: 'DKIM', recordType: 'TXT', host, expectedValue } as const;
    return new DnsRecord(domain, wanted, new DkimKeyPair(domain, made, state, now));
  });
}

/** New keys wait until their records are found. */
export function hasNextKeys(records: readonly DnsRecord[]): boolean {
  return nextKeys(records).length > 0;
}

/** Once new keys have all been found in DNS, they sign, and those that signed do no more. */
export function switchKeys(records: readonly DnsRecord[], now: Date): void {
  const next = nextKeys(records);
  if (next.length === 0 || !next.every(({ isRight }) => isRight)) return;
  for (const { key, isRequired } of records) if (isRequired) key?.switch(now);
}

/**
 * True if mail counts as signed; null if DNS did not answer. Few receivers know Ed25519 (RFC 8463): without
 * the RSA key, it counts as not signed.
 */
export function isSignatureKnown(records: readonly DnsRecord[], now: Date): boolean | null {
  const rsa = records.filter(({ key, isInForce }) => isInForce && key?.algorithm === 'rsa-sha256');
  if (rsa.some(({ isUnknown }) => isUnknown)) return null;
  return !rsa.some((record) => record.isBroken(now));
}

const nextKeys = (records: readonly DnsRecord[]) => records.filter(({ key }) => key?.state === 'NEXT');

/** Worth of each kind of record when it is right; together 100. */
const WEIGHTS: Readonly<Record<RecordPurpose, number>> = {
  DKIM: 40,
  SPF: 20,
  DMARC: 20,
  MX: 10,
  OWNERSHIP: 10,
};
/** Taken off for a record that is right and could do harm: DMARC's adkim=s with aspf=s, DKIM's t=y. */
const FAULT_COSTS = 5;

/** 0 to 100; docs/sending-domains.md has the formula. Records of a kind share its worth; absent kinds take none. */
export function healthScore(records: readonly DnsRecord[]): number {
  const inForce = records.filter(({ isInForce }) => isInForce);
  const score = inForce.reduce((sum, { purpose, status, note }) => {
    const ofKind = inForce.filter((other) => other.purpose === purpose).length;
    const hasFault = purpose === 'DMARC' ? tellsDmarcFault(note) : note !== null;
    const worth = WEIGHTS[purpose] - (hasFault ? FAULT_COSTS : 0);
    return sum + (status === 'VERIFIED' ? worth / ofKind : 0);
  }, 0);
  const best = [...new Set(inForce.map(({ purpose }) => purpose))].reduce(
    (sum, kind) => sum + WEIGHTS[kind],
    0,
  );
  return Math.round((100 * score) / best);
}

/** Two accounts may control a zone, an agency and its client: the first to verify the domain has it. */
function asAnothers({ purpose }: Pick<NewDnsRecord, 'purpose'>, verdict: RecordVerdict): RecordVerdict {
  if (purpose !== 'OWNERSHIP' || verdict.status !== 'VERIFIED') return verdict;
  return failed('MISMATCH', 'another account has verified this domain', [verdict.actualValue]);
}

/** Settings of the installation that records name. */
interface RecordSettings {
  readonly BOUNCE_HOST: string;
  readonly SPF_INCLUDE: string;
}

/** Values of the records that name hosts of the installation. */
export const recordsOfSettings = ({ BOUNCE_HOST, SPF_INCLUDE }: RecordSettings): SettingsValues => ({
  SPF: `v=spf1 include:${SPF_INCLUDE} ~all`,
  MX: `10 ${BOUNCE_HOST}`,
});

/** The records that prove a domain and bring its bounces back: all but those of its keys. */
export function ownersRecords(
  domainName: string,
  returnPathHost: string,
  token: string,
  settings: RecordSettings,
): NewDnsRecord[] {
  const { SPF, MX } = recordsOfSettings(settings);
  return [
    txt('OWNERSHIP', `_mailwright.${domainName}`, `mailwright-verification=${token}`),
    txt('SPF', returnPathHost, SPF),
    { purpose: 'MX', recordType: 'MX', host: returnPathHost, expectedValue: MX },
    txt('DMARC', `_dmarc.${domainName}`, 'v=DMARC1; p=none'),
  ];
}

const txt = (purpose: RecordPurpose, host: string, expectedValue: string): NewDnsRecord => ({
  purpose,
  recordType: 'TXT',
  host,
  expectedValue,
});
