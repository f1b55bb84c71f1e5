import { randomInt } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  API_SCOPES,
  Clock,
  DomainValidationError,
  isUuid,
  newId,
  NotFoundError,
  type ProjectScope,
} from '#kernel';
import { Database } from '#platform';
import { nameFault } from '../tenants/tenant.js';
import { displayParts, hashApiKey, makeApiKey } from './api-key.js';

export interface NewApiKey {
  readonly name: string;
  /** Names of API_SCOPES. */
  readonly scopes: readonly string[];
  readonly expiresAt?: Date | null;
  /** Null or absent: the installation's default. */
  readonly rateLimitPerMinute?: number | null;
}

export interface CreatedApiKey {
  readonly id: string;
  /** The key itself. It is stored nowhere and cannot be shown again. */
  readonly key: string;
}

const KNOWN_SCOPES: ReadonlySet<string> = new Set(API_SCOPES);
const MAX_RATE_LIMIT = 1_000_000;

/** Makes and withdraws API keys, as the operator asks. */
@Injectable()
export class ApiKeysService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Makes a key for the environment of `scope`, or throws `DomainValidationError`. */
  async create(scope: ProjectScope, wanted: NewApiKey): Promise<CreatedApiKey> {
    const now = this.clock.now();
    const faults = apiKeyFaults(wanted, now);
    if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
    const id = newId();
    const key = makeApiKey(scope.environment, randomInt);
    const { prefix, lastFour } = displayParts(key);
    await this.database.system(({ db }) =>
      sql`
        insert into access.api_keys (id, environment_id, name, key_hash, prefix, last_four, scopes,
          rate_limit_per_minute, created_at, expires_at)
        values (${id}, ${scope.environmentId}, ${wanted.name.trim()}, ${hashApiKey(key)}, ${prefix}, ${lastFour},
          ${[...new Set(wanted.scopes)]}::text[], ${wanted.rateLimitPerMinute ?? null}, ${now}, ${wanted.expiresAt ?? null})
      `.execute(db),
    );
    return { id, key };
  }

  /**
   * Withdraws a key for good; every instance refuses it within five seconds. Tells since when it is
   * withdrawn: a second time changes nothing. Throws `NotFoundError` when there is no such key.
   */
  async revoke(id: string): Promise<Date> {
    if (!isUuid(id)) throw new NotFoundError();
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<{ revokedAt: Date }>`
        update access.api_keys set revoked_at = coalesce(revoked_at, ${this.clock.now()}::timestamptz)
        where id = ${id}
        returning revoked_at as "revokedAt"
      `.execute(db);
      if (rows[0] === undefined) throw new NotFoundError();
      return rows[0].revokedAt;
    });
  }
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
    faults['rateLimitPerMinute'] = `must be a whole number from 1 to ${MAX_RATE_LIMIT}`;
  }
  return faults;
}
