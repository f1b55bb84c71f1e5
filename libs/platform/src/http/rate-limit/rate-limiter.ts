import { UnavailableError } from '#kernel';
import { networkOf } from '../authentication/client-network.js';
import type { AuthenticatedCaller } from '../authentication/authenticated-caller.js';
import { type RateLimit, rateLimitOf, type RateLimitStore, type WindowHit } from './rate-limit.js';
import { SharedHits } from './shared-hits.js';

const WINDOW_SECONDS = 60;
/** A machine under load, or a checkpoint of the database, may take a second or two; that is no outage. */
const STORE_DEADLINE_MS = 5_000;
/** Requests a minute and client network that may come without a valid key. */
const FAILURES_PER_MINUTE = 60;

/** Counts requests in fixed windows of a minute. Without its store it lets nobody through: 503. */
export class RateLimiter {
  readonly #hits = new SharedHits((key, times) => this.#count(key, times));

  constructor(
    private readonly store: RateLimitStore,
    private readonly defaultLimit: number,
  ) {}

  /** Counts a request of a key, against the key's own limit if it has one. */
  async countKey(caller: AuthenticatedCaller): Promise<RateLimit> {
    const hit = await this.#hits.hit(`key:${caller.keyId}`);
    return rateLimitOf(caller.rateLimitPerMinute ?? this.defaultLimit, hit);
  }

  /** Counts a request that failed to authenticate. */
  countFailure(clientAddress: string): Promise<RateLimit> {
    return this.countClient('client', clientAddress, FAILURES_PER_MINUTE);
  }

  /** Counts a request of a client without a key, against a limit of `kind`. */
  async countClient(kind: string, clientAddress: string, limit: number): Promise<RateLimit> {
    return rateLimitOf(limit, await this.#hits.hit(`${kind}:${networkOf(clientAddress)}`));
  }

  async #count(key: string, times: number): Promise<WindowHit> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new UnavailableError('The rate limit could not be looked up in time.', 1)),
      STORE_DEADLINE_MS,
    );
    try {
      return await Promise.race([this.store.hit(key, WINDOW_SECONDS, times), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }
}
