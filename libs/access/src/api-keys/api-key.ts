import { API_SCOPES, DomainValidationError } from '#kernel';
import { nameFault } from '../tenants/tenant.js';
import { displayParts, hashApiKey } from './api-key-text.js';

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

/** What is stored of a key, whose text is shown once: it lets whoever knows that text act for an environment. */
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

  /** Withdraws it for good; a second time changes nothing. Tells since when. */
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
