import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import {
  API_SCOPES,
  DomainError,
  DomainValidationError,
  type Environment,
  InvalidStateError,
  isWithinNetworks,
  parseNetwork,
  patched,
} from '#kernel';
import { nameFault } from './tenant.js';

/** REPLACED: it works until it expires, and its successor does already. */
export const API_KEY_STATUSES = ['ACTIVE', 'REPLACED', 'EXPIRED', 'REVOKED'] as const;
export type ApiKeyStatus = (typeof API_KEY_STATUSES)[number];

export interface NewApiKey {
  readonly name: string;
  /** Names of API_SCOPES. */
  readonly scopes: readonly string[];
  /** Null: never. */
  readonly expiresAt?: Date | null;
  /** Null or absent: the installation's default. */
  readonly rateLimitPerMinute?: number | null;
  /** Addresses and CIDR that it may be used from; empty or absent: from anywhere. */
  readonly allowedNetworks?: readonly string[];
}

/** Changes of a key: what is absent stays. Its scopes and its end are never changed. */
export type ApiKeyChanges = Partial<Pick<NewApiKey, 'name' | 'rateLimitPerMinute' | 'allowedNetworks'>>;

/** The key that asks has ended since it was let in. */
export class KeyEndedError extends DomainError {
  override readonly code = 'unauthorized';

  constructor() {
    super('The API key was revoked or has expired.');
  }
}

/** The key is the last one of its environment that may manage keys. */
export class LastManagingKeyError extends DomainError {
  override readonly code = 'last-managing-key';

  constructor() {
    super('No other key of this environment has the scope keys:manage. Make one first, or rotate this one.');
  }
}

const MAX_RATE_LIMIT = 1_000_000;
const MAX_YEARS = 100;
export const MAX_NETWORKS = 50;
export const MAX_OVERLAP_HOURS = 168;
const HOUR_MS = 3_600_000;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 36;
const CHECKSUM_LENGTH = 6;
const FORM = new RegExp(`^mw_(live|test|op)_[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

interface NewIdentity {
  readonly id: string;
  readonly environmentId: number;
  readonly key: string;
  /** Id of the key that asked for it; null: the operator. */
  readonly createdBy: string | null;
}

/** An API key without its text, which is shown once and lets its holder act for an environment. */
export class ApiKey {
  readonly id: string;
  readonly environmentId: number;
  name: string;
  readonly keyHash: Buffer;
  readonly prefix: string;
  readonly lastFour: string;
  readonly scopes: string[];
  rateLimitPerMinute: number | null;
  allowedNetworks: string[];
  readonly createdBy: string | null;
  replacedBy: string | null = null;
  readonly lastUsedAt: Date | null = null;
  readonly createdAt: Date;
  updatedAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null = null;

  /** Throws `DomainValidationError`. */
  constructor({ id, environmentId, key, createdBy }: NewIdentity, wanted: NewApiKey, now: Date) {
    refuse(keyFaults(wanted, now, API_SCOPES));
    const { prefix, lastFour } = displayParts(key);
    this.id = id;
    this.environmentId = environmentId;
    this.name = wanted.name.trim();
    this.keyHash = hashApiKey(key);
    this.prefix = prefix;
    this.lastFour = lastFour;
    this.scopes = [...new Set(wanted.scopes)];
    this.rateLimitPerMinute = wanted.rateLimitPerMinute ?? null;
    this.allowedNetworks = networksOf(wanted);
    this.createdBy = createdBy;
    this.createdAt = now;
    this.updatedAt = now;
    this.expiresAt = wanted.expiresAt ?? null;
  }

  /** Throws `DomainValidationError`. */
  change(changes: ApiKeyChanges, now: Date): void {
    const { name = this.name, allowedNetworks = this.allowedNetworks } = changes;
    const { rateLimitPerMinute = this.rateLimitPerMinute } = changes;
    const changed = { name, scopes: this.scopes, rateLimitPerMinute, allowedNetworks };
    refuse(keyFaults(changed, now, API_SCOPES));
    const networks = networksOf(changed);
    const patch = { name: name.trim(), rateLimitPerMinute, allowedNetworks: networks };
    if (patched(this, ['name', 'rateLimitPerMinute', 'allowedNetworks'], patch)) this.updatedAt = now;
  }

  /** Revokes it for good and returns since when; a second time changes nothing. */
  revoke(now: Date): Date {
    if (this.revokedAt === null) this.updatedAt = now;
    this.revokedAt ??= now;
    return this.revokedAt;
  }

  /** Ends `overlapHours` from now, or when it would anyway. Throws `DomainValidationError`, `InvalidStateError` unless it is ACTIVE. */
  replace(successorId: string, overlapHours: number, now: Date): void {
    if (!(overlapHours >= 0 && overlapHours <= MAX_OVERLAP_HOURS))
      refuse({ overlapHours: `must be from 0 to ${MAX_OVERLAP_HOURS}` });
    const status = statusOf(this, now);
    if (status !== 'ACTIVE') {
      const by = status === 'REPLACED' ? ` by ${this.replacedBy}` : '';
      throw new InvalidStateError(`The key is ${status}${by}.`, status, ['ACTIVE']);
    }
    const endsAt = new Date(now.getTime() + overlapHours * HOUR_MS);
    if (this.expiresAt === null || endsAt < this.expiresAt) this.expiresAt = endsAt;
    this.replacedBy = successorId;
    this.updatedAt = now;
  }
}

export function statusOf(
  { revokedAt, expiresAt, replacedBy }: Pick<ApiKey, 'revokedAt' | 'expiresAt' | 'replacedBy'>,
  now: Date,
): ApiKeyStatus {
  if (revokedAt !== null) return 'REVOKED';
  if (expiresAt !== null && expiresAt <= now) return 'EXPIRED';
  return replacedBy === null ? 'ACTIVE' : 'REPLACED';
}

type Grants = Pick<ApiKey, 'scopes' | 'expiresAt' | 'rateLimitPerMinute' | 'allowedNetworks'>;

/** Fills what `wanted` leaves out from the key that asks for it. */
export function withGrantsOf(asking: Grants, wanted: NewApiKey): NewApiKey {
  const { expiresAt, rateLimitPerMinute, allowedNetworks } = wanted;
  return {
    ...wanted,
    expiresAt: expiresAt ?? asking.expiresAt,
    rateLimitPerMinute: rateLimitPerMinute ?? asking.rateLimitPerMinute,
    allowedNetworks: allowedNetworks ?? asking.allowedNetworks,
  };
}

/**
 * Throws a `DomainValidationError` that names each grant which the key that asks has not got itself. `defaultLimit`: requests a
 * minute of keys without a limit of their own.
 */
export function refuseBeyond(asking: Grants, wanted: Grants, defaultLimit: number): void {
  const faults: Record<string, string> = {};
  for (const [position, scope] of wanted.scopes.entries())
    if (!asking.scopes.includes(scope))
      faults[`scopes[${position}]`] = `${scope} is no scope of the key that asks`;
  const end = asking.expiresAt;
  if (end !== null && (wanted.expiresAt === null || wanted.expiresAt > end))
    faults['expiresAt'] = `must be at most ${end.toISOString()}, the end of the key that asks`;
  const limit = asking.rateLimitPerMinute ?? defaultLimit;
  if ((wanted.rateLimitPerMinute ?? defaultLimit) > limit)
    faults['rateLimitPerMinute'] = `must be at most ${limit}, the limit of the key that asks`;
  Object.assign(faults, networksBeyond(asking.allowedNetworks, wanted.allowedNetworks));
  refuse(faults);
}

function networksBeyond(own: readonly string[], wanted: readonly string[]): Record<string, string> {
  if (own.length === 0) return {};
  const allowed = `${own.join(', ')}, as the key that asks`;
  if (wanted.length === 0) return { allowedNetworks: `must be within ${allowed}` };
  const beyond = [...wanted.entries()].filter(([, network]) => !isWithinNetworks(network, own));
  return Object.fromEntries(
    beyond.map(([position]) => [`allowedNetworks[${position}]`, `must be within ${allowed}`]),
  );
}

/** Throws `DomainValidationError` where there are faults. */
export function refuse(faults: Record<string, string>): void {
  if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
}

/** Each once, in its one spelling. */
export function networksOf({ allowedNetworks = [] }: Pick<NewApiKey, 'allowedNetworks'>): string[] {
  const networks = allowedNetworks.flatMap((text) => {
    const parsed = parseNetwork(text);
    return 'network' in parsed ? [parsed.network] : [];
  });
  return [...new Set(networks)];
}

/** Faults of a new key, by field; `known` are the scopes that there are. */
export function keyFaults(
  { name, scopes, expiresAt, rateLimitPerMinute, allowedNetworks = [] }: NewApiKey,
  now: Date,
  known: readonly string[],
): Record<string, string> {
  const faults: Record<string, string> = {};
  const wrongName = nameFault(name);
  if (wrongName !== null) faults['name'] = wrongName;
  if (scopes.length === 0) faults['scopes'] = 'must name at least one scope';
  for (const [position, scope] of scopes.entries()) {
    if (!known.includes(scope)) faults[`scopes[${position}]`] = `must be one of ${known.join(', ')}`;
  }
  const wrongEnd = endFault(expiresAt ?? null, now);
  if (wrongEnd !== null) faults['expiresAt'] = wrongEnd;
  const limit = rateLimitPerMinute ?? 1;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_RATE_LIMIT) {
    faults['rateLimitPerMinute'] = `must be an integer from 1 to ${MAX_RATE_LIMIT}`;
  }
  if (allowedNetworks.length > MAX_NETWORKS)
    faults['allowedNetworks'] = `must be at most ${MAX_NETWORKS} networks`;
  for (const [position, text] of allowedNetworks.entries()) {
    const parsed = parseNetwork(text);
    if ('fault' in parsed) faults[`allowedNetworks[${position}]`] = parsed.fault;
  }
  return faults;
}

function endFault(end: Date | null, now: Date): string | null {
  if (end === null) return null;
  if (end <= now) return 'must be in the future';
  const last = new Date(now);
  last.setUTCFullYear(last.getUTCFullYear() + MAX_YEARS);
  // Also of what is no time.
  return end <= last ? null : `must be at most ${MAX_YEARS} years ahead`;
}

/**
 * Makes a key: `mw_test_`, `mw_live_` or, for the operator, `mw_op_`, 36 characters of base62 (214 bits) and a CRC-32 of these, so that a typo is found
 * without a look-up. `randomInt(max)` returns integers from 0 to max − 1 and must be cryptographically strong.
 */
export function makeApiKey(kind: Environment | 'OP', randomInt: (max: number) => number): string {
  const digit = () => BASE62.charAt(randomInt(BASE62.length));
  const random = Array.from({ length: RANDOM_LENGTH }, digit).join('');
  const body = `mw_${kind.toLowerCase()}_${random}`;
  return body + checksum(body);
}

/** True when `key` has the form of a key and its checksum holds. */
export function isWellFormedApiKey(key: string): boolean {
  return FORM.test(key) && checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH);
}

/** The hash stored in the key's place: SHA-256, which is enough for 214 random bits. */
export function hashApiKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** The parts that may be shown: `mw_test_` and the last four characters. */
export function displayParts(key: string): { readonly prefix: string; readonly lastFour: string } {
  return { prefix: key.slice(0, key.lastIndexOf('_') + 1), lastFour: key.slice(-4) };
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let position = 0; position < CHECKSUM_LENGTH; position += 1) {
    digits = BASE62.charAt(rest % BASE62.length) + digits;
    rest = Math.floor(rest / BASE62.length);
  }
  return digits;
}
