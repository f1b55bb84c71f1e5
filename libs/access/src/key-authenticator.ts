import { timingSafeEqual } from 'node:crypto';
import {
  Inject,
  Injectable,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import {
  addressesIn,
  API_SCOPES,
  Clock,
  type Environment,
  INSTALLATION,
  OPERATOR_KEY_PREFIX,
  OPERATOR_SCOPES,
} from '#kernel';
import { Database, describeError, LOGGER, named, Notifications } from '#platform';
import type { ApiKeyAuthenticator, AuthenticatedCaller } from '#platform/http';
import { hashApiKey, isWellFormedApiKey } from './api-key.js';

/** The channel on which a changed key is named, by the hex of its hash. */
export const API_KEYS_CHANNEL = 'mailwright_api_keys';
const CACHED_KEYS = 10_000;
/** The contract allows five seconds; the rest is for requests that are already under way. */
const CACHED_MS = 3_000;
/** Time after which the last uses of keys are written, all in one statement. */
const USES_EVERY_MS = 60_000;

interface KnownKey {
  readonly hash: Buffer;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly caller: AuthenticatedCaller;
}

/** A stored key of the operator's. */
interface StoredKey {
  readonly keyId: string;
  readonly keyHash: Buffer;
  readonly scopes: readonly string[];
  readonly allowedNetworks: readonly string[];
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

/** A stored key with the scope that it acts for. */
interface StoredApiKey extends StoredKey {
  readonly tenantId: number;
  readonly projectId: number;
  readonly environmentId: number;
  readonly environment: Environment;
  readonly rateLimitPerMinute: number | null;
}

/** A page that looks every few seconds must not use up the limit of projects' keys. */
const OPERATOR_REQUESTS_PER_MINUTE = 600;

/** A look-up under way, with its beginning and the epoch of that time. */
interface Reading {
  readonly hash: string;
  readonly startedAt: number;
  readonly epoch: number;
}

interface Entry<Value> {
  readonly value: Value;
  readonly readAt: number;
}

/**
 * Cache of the keys last used, by the hex of their hash: at most `capacity` of them, each for `maxAgeMs` from the beginning of
 * its look-up. The caller's clock gives all times, in milliseconds.
 */
export class ApiKeyCache<Value> {
  readonly #entries: LRUCache<string, Entry<Value>>;
  /** Grows with each forgetting, so that a reading under way at that time is not kept. */
  #epoch = 0;

  constructor(
    capacity: number,
    private readonly maxAgeMs: number,
  ) {
    this.#entries = new LRUCache({ max: capacity });
  }

  get(hash: string, now: number): Value | undefined {
    const entry = this.#entries.get(hash);
    if (entry === undefined) return undefined;
    const age = now - entry.readAt;
    // A clock that was set back must not make anything older than it is allowed to be.
    if (age >= 0 && age < this.maxAgeMs) return entry.value;
    this.#entries.delete(hash);
    return undefined;
  }

  /** To be called before the value is read from the database. */
  beginReading(hash: string, now: number): Reading {
    return { hash, startedAt: now, epoch: this.#epoch };
  }

  keep({ hash, startedAt, epoch }: Reading, value: Value): void {
    if (epoch !== this.#epoch) return;
    this.#entries.set(hash, { value, readAt: startedAt });
  }

  forget(hash: string): void {
    this.#epoch += 1;
    this.#entries.delete(hash);
  }

  forgetAll(): void {
    this.#epoch += 1;
    this.#entries.clear();
  }
}

/**
 * Authenticates callers. A changed key is looked up anew: at once where the notification arrives, else three seconds after
 * its last look-up. Only keys that exist are cached, so that guessed ones take up no memory. Last uses are collected, and written
 * once a minute and at shutdown: a crash loses those of a minute.
 */
@Injectable()
export class KeyAuthenticator
  implements ApiKeyAuthenticator, OnModuleInit, OnModuleDestroy, OnApplicationShutdown
{
  readonly #known = new ApiKeyCache<KnownKey>(CACHED_KEYS, CACHED_MS);
  #stopListening: (() => void) | undefined;
  /** Last uses by the key's id, since they were written. */
  #uses: Uses = new Map();
  #writtenAt = Number.NEGATIVE_INFINITY;
  #writing: NodeJS.Timeout | undefined;
  /** The last write that was begun. */
  #written: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly notifications: Notifications,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onModuleInit(): void {
    this.#stopListening = this.notifications.listen(API_KEYS_CHANNEL, (hash) => {
      if (hash === null) this.#known.forgetAll();
      else this.#known.forget(hash);
    });
  }

  onModuleDestroy(): void {
    this.#stopListening?.();
  }

  /** Runs when no request does any more. */
  async onApplicationShutdown(): Promise<void> {
    await this.#written;
    await this.#writeUses();
  }

  /** The caller that holds `key`; null when it is malformed, unknown, revoked or expired. */
  async authenticate(key: string): Promise<AuthenticatedCaller | null> {
    if (!isWellFormedApiKey(key)) return null;
    const hash = hashApiKey(key);
    const found = await this.#find(hash, key.startsWith(OPERATOR_KEY_PREFIX));
    if (found === null || !timingSafeEqual(found.hash, hash)) return null;
    if (found.revokedAt !== null) return null;
    if (found.expiresAt !== null && found.expiresAt <= this.clock.now()) return null;
    return found.caller;
  }

  /** Written at once after a minute in which nothing was written, else with all others at its end. */
  used({ keyId, scope }: Pick<AuthenticatedCaller, 'keyId' | 'scope'>): void {
    const now = this.clock.now();
    this.#uses.set(keyId, { at: now, isOperators: scope === INSTALLATION });
    const sinceMs = now.getTime() - this.#writtenAt;
    if (sinceMs < 0 || sinceMs >= USES_EVERY_MS) this.#written = this.#writeUses();
    else this.#writeIn(USES_EVERY_MS - sinceMs);
  }

  #writeIn(milliseconds: number): void {
    this.#writing ??= setTimeout(() => void this.#writeUses(), milliseconds).unref();
  }

  /** Writes when keys were used last; uses that cannot be written wait for the next minute. */
  async #writeUses(): Promise<void> {
    clearTimeout(this.#writing);
    this.#writing = undefined;
    this.#writtenAt = this.clock.now().getTime();
    const uses = this.#uses;
    if (uses.size === 0) return;
    this.#uses = new Map();
    try {
      await writeLastUses(this.database, uses);
    } catch (error) {
      this.#uses = new Map([...uses, ...this.#uses]);
      this.#writeIn(USES_EVERY_MS);
      this.logger.warn({ keys: uses.size, error: describeError(error) }, 'last uses of API keys wait');
    }
  }

  async #find(hash: Buffer, isOperators: boolean): Promise<KnownKey | null> {
    const id = hash.toString('hex');
    const known = this.#known.get(id, this.clock.now().getTime());
    if (known !== undefined) return known;
    const reading = this.#known.beginReading(id, this.clock.now().getTime());
    const found = isOperators
      ? await findOperatorKey(this.database, hash)
      : await findApiKey(this.database, hash);
    if (found === null) return null;
    this.#known.keep(reading, found);
    return found;
  }
}

type Uses = Map<string, { readonly at: Date; readonly isOperators: boolean }>;

function knownKey(
  { keyId, keyHash: hash, allowedNetworks, expiresAt, revokedAt }: StoredKey,
  rights: Pick<AuthenticatedCaller, 'scope' | 'scopes' | 'rateLimitPerMinute'>,
): KnownKey {
  const isAllowedFrom = allowedNetworks.length === 0 ? () => true : addressesIn(allowedNetworks);
  return { hash, expiresAt, revokedAt, caller: Object.freeze({ keyId, ...rights, isAllowedFrom }) };
}

/** The key of the operator's with this hash, in any state, or null. */
async function findOperatorKey(database: Database, hash: Buffer): Promise<KnownKey | null> {
  const [key] = await database.statement(
    'system',
    sql<StoredKey>`${named('find_operator_key')}
      select k.id as key_id, k.key_hash, k.scopes, k.allowed_networks, k.expires_at, k.revoked_at
      from access.operator_keys k where k.key_hash = ${hash}`,
  );
  if (key === undefined) return null;
  const scopes = new Set(OPERATOR_SCOPES.filter((scope) => key.scopes.includes(scope)));
  return knownKey(key, { scope: INSTALLATION, scopes, rateLimitPerMinute: OPERATOR_REQUESTS_PER_MINUTE });
}

/** The key with this hash, in any state, or null; read by a function of the database, as there is no scope yet. */
async function findApiKey(database: Database, hash: Buffer): Promise<KnownKey | null> {
  const [key] = await database.statement(
    'unscoped',
    sql<StoredApiKey>`${named('find_api_key')}
      select key_id, key_hash, tenant_id, project_id, environment_id, environment, scopes, rate_limit_per_minute,
        allowed_networks, expires_at, revoked_at
      from access.find_api_key(${hash})`,
  );
  if (key === undefined) return null;
  const { tenantId, projectId, environmentId, environment, rateLimitPerMinute } = key;
  return knownKey(key, {
    scope: Object.freeze({ tenantId, projectId, environmentId, environment }),
    scopes: new Set(API_SCOPES.filter((scope) => key.scopes.includes(scope))),
    rateLimitPerMinute,
  });
}

/** Writes all keys of projects in one statement, which locks them in one order: other instances write them, too. */
async function writeLastUses(database: Database, uses: Uses): Promise<void> {
  const all = [...uses].map(([id, { at, isOperators }]) => ({ id, at: at.toISOString(), isOperators }));
  const [operators, projects] = [all.filter((use) => use.isOperators), all.filter((use) => !use.isOperators)];
  for (const { id, at } of operators)
    await database.statement(
      'system',
      sql`${named('write_last_use_of_operator')}
        update access.operator_keys set last_used_at = ${at}
        where id = ${id} and (last_used_at is null or last_used_at < ${at}::timestamptz)`,
      { flushed: false },
    );
  if (projects.length === 0) return;
  const [ids, times] = [projects.map(({ id }) => id), projects.map(({ at }) => at)];
  await database.statement(
    'system',
    sql`${named('write_last_uses')}
      with used as (
        select k.id, u.at from access.api_keys k
        join unnest(${ids}::uuid[], ${times}::timestamptz[]) u(id, at) on u.id = k.id
        order by k.id for no key update of k
      )
      update access.api_keys k set last_used_at = u.at
      from used u where k.id = u.id and (k.last_used_at is null or k.last_used_at < u.at)`,
    { flushed: false },
  );
}
