import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { API_SCOPES, DomainValidationError, type Environment } from '#kernel';
import { nameFault } from './tenant.js';

export type ApiKeyStatus = 'ACTIVE' | 'EXPIRED' | 'REVOKED';

export interface NewApiKey {
  readonly name: string;
  /** Names of API_SCOPES. */
  readonly scopes: readonly string[];
  readonly expiresAt?: Date | null;
  /** Null or absent: the installation's default. */
  readonly rateLimitPerMinute?: number | null;
}

const KNOWN_SCOPES: ReadonlySet<string> = new Set(API_SCOPES);
const MAX_RATE_LIMIT = 1_000_000;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 36;
const CHECKSUM_LENGTH = 6;
const FORM = new RegExp(`^mw_(live|test)_[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/** An API key without its text, which is shown once and lets its holder act for an environment. */
export class ApiKey {
  readonly id: string;
  readonly environmentId: number;
  readonly name: string;
  readonly keyHash: Buffer;
  readonly prefix: string;
  readonly lastFour: string;
  readonly scopes: string[];
  readonly rateLimitPerMinute: number | null;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  revokedAt: Date | null = null;

  /** Throws `DomainValidationError`. */
  constructor(
    { id, environmentId, key }: { readonly id: string; readonly environmentId: number; readonly key: string },
    wanted: NewApiKey,
    now: Date,
  ) {
    const faults = apiKeyFaults(wanted, now);
    if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
    const { prefix, lastFour } = displayParts(key);
    this.id = id;
    this.environmentId = environmentId;
    this.name = wanted.name.trim();
    this.keyHash = hashApiKey(key);
    this.prefix = prefix;
    this.lastFour = lastFour;
    this.scopes = [...new Set(wanted.scopes)];
    this.rateLimitPerMinute = wanted.rateLimitPerMinute ?? null;
    this.createdAt = now;
    this.expiresAt = wanted.expiresAt ?? null;
  }

  /** Revokes it for good and returns since when; a second time changes nothing. */
  revoke(now: Date): Date {
    this.revokedAt ??= now;
    return this.revokedAt;
  }
}

export function statusOf(
  { revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>,
  now: Date,
): ApiKeyStatus {
  if (revokedAt !== null) return 'REVOKED';
  return expiresAt !== null && expiresAt <= now ? 'EXPIRED' : 'ACTIVE';
}

function apiKeyFaults(
  { name, scopes, expiresAt, rateLimitPerMinute }: NewApiKey,
  now: Date,
): Record<string, string> {
  const faults: Record<string, string> = {};
  const wrongName = nameFault(name);
  if (wrongName !== null) faults['name'] = wrongName;
  if (scopes.length === 0) faults['scopes'] = 'must name at least one scope';
  for (const [position, scope] of scopes.entries()) {
    if (!KNOWN_SCOPES.has(scope)) faults[`scopes[${position}]`] = `must be one of ${API_SCOPES.join(', ')}`;
  }
  if (expiresAt != null && !(expiresAt > now)) faults['expiresAt'] = 'must be in the future';
  const limit = rateLimitPerMinute ?? 1;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_RATE_LIMIT) {
    faults['rateLimitPerMinute'] = `must be an integer from 1 to ${MAX_RATE_LIMIT}`;
  }
  return faults;
}

/**
 * Makes a key: `mw_test_` or `mw_live_`, 36 characters of base62 (214 bits) and a CRC-32 of these, so that a typo is found
 * without a look-up. `randomInt(max)` returns integers from 0 to max − 1 and must be cryptographically strong.
 */
export function makeApiKey(environment: Environment, randomInt: (max: number) => number): string {
  const digit = () => BASE62.charAt(randomInt(BASE62.length));
  const random = Array.from({ length: RANDOM_LENGTH }, digit).join('');
  const body = `mw_${environment.toLowerCase()}_${random}`;
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

/** The part that may be shown: `mw_test_` and the last four characters. */
export function displayParts(key: string): { readonly prefix: string; readonly lastFour: string } {
  return { prefix: key.slice(0, 'mw_test_'.length), lastFour: key.slice(-4) };
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
