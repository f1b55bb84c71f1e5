import { timingSafeEqual } from 'node:crypto';
import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { API_SCOPES, type ApiScope, Clock } from '#kernel';
import { Database, Notifications } from '#platform';
import type { ApiKeyAuthenticator, AuthenticatedCaller } from '#platform/http';
import { ApiKeyCache } from './api-key-cache.js';
import { findApiKey, type StoredApiKey } from './stored-api-key.query.js';
import { hashApiKey, isWellFormedApiKey } from './api-key-text.js';

/** The channel on which a changed key is named, by the hex of its hash. */
export const API_KEYS_CHANNEL = 'mailwright_api_keys';
const CACHED_KEYS = 10_000;
/** The contract allows five seconds; the rest is for requests that are already under way. */
const CACHED_MS = 3_000;

interface KnownKey {
  readonly hash: Buffer;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly caller: AuthenticatedCaller;
}

/**
 * Tells who calls. A key that was changed is looked up anew: at once where the notification arrives,
 * and three seconds after the last look-up where it doesn't.
 *
 * Only keys that exist are remembered, so that guessed ones take up no memory.
 */
@Injectable()
export class KeyAuthenticator implements ApiKeyAuthenticator, OnModuleInit, OnModuleDestroy {
  readonly #known = new ApiKeyCache<KnownKey>(CACHED_KEYS, CACHED_MS);
  #stopListening: (() => void) | undefined;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly notifications: Notifications,
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

  /** Whom `key` speaks for; null when it is malformed, unknown, revoked or expired. */
  async authenticate(key: string): Promise<AuthenticatedCaller | null> {
    if (!isWellFormedApiKey(key)) return null;
    const hash = hashApiKey(key);
    const found = await this.#find(hash);
    if (found === null || !timingSafeEqual(found.hash, hash)) return null;
    if (found.revokedAt !== null) return null;
    if (found.expiresAt !== null && found.expiresAt <= this.clock.now()) return null;
    return found.caller;
  }

  async #find(hash: Buffer): Promise<KnownKey | null> {
    const id = hash.toString('hex');
    const known = this.#known.get(id, this.clock.now().getTime());
    if (known !== undefined) return known;
    const reading = this.#known.beginReading(id, this.clock.now().getTime());
    const stored = await findApiKey(this.database, hash);
    if (stored === null) return null;
    const found = knownKey(stored);
    this.#known.keep(reading, found);
    return found;
  }
}

function knownKey(stored: StoredApiKey): KnownKey {
  const { tenantId, projectId, environmentId, environment } = stored;
  const caller: AuthenticatedCaller = {
    keyId: stored.keyId,
    scope: Object.freeze({ tenantId, projectId, environmentId, environment }),
    scopes: new Set(API_SCOPES.filter((scope): scope is ApiScope => stored.scopes.includes(scope))),
    rateLimitPerMinute: stored.rateLimitPerMinute,
  };
  return {
    hash: stored.keyHash,
    expiresAt: stored.expiresAt,
    revokedAt: stored.revokedAt,
    caller: Object.freeze(caller),
  };
}
