import { Redis } from 'ioredis';
import { UnavailableError } from '#kernel';
import { Outage, type OutageListener } from '../../lifecycle/outage.js';
import { FOLLOWS_FAILOVER, probeRedis, redisFailure } from '../../lifecycle/redis-failure.js';
import { RateLimitStorage, type WindowHit } from './rate-limit.storage.js';

const KEY_PREFIX = 'mailwright:rate-limit:';

/** Counts and starts the window in one step; the end is kept beside the count, so that it never moves. */
const HIT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local hits = redis.call('HINCRBY', KEYS[1], 'hits', ARGV[2])
if hits == tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[1], 'ends', now + ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return { hits, tonumber(redis.call('HGET', KEYS[1], 'ends')), now }`;

/** A Redis that says nothing for so long is away. */
const SILENCE_MS = 5_000;

/** Counts in Redis. While it is away, or answers with errors, nobody waits for it. */
export class RedisRateLimitStorage extends RateLimitStorage {
  readonly #redis: Redis;
  readonly #outage: Outage;

  constructor(url: string, listener: OutageListener) {
    super();
    this.#redis = new Redis(url, {
      ...FOLLOWS_FAILOVER,
      lazyConnect: true,
      maxRetriesPerRequest: 0,
      socketTimeout: SILENCE_MS,
      disconnectTimeout: 200,
    });
    this.#outage = new Outage(() => probeRedis(this.#redis, 'rate-limit'));
    this.#outage.tell(listener);
    this.#redis.on('error', (error) => this.#outage.noticed(error));
    // It may be back before anybody fails to reach it, but some have got 503.
    this.#redis.on('close', () => this.#outage.noticed(new Error('The connection was closed.')));
  }

  protected override async count(key: string, windowMs: number, times: number): Promise<WindowHit> {
    if (this.#outage.isOn) throw this.#refusal();
    try {
      const reply = await this.#redis.eval(HIT, 1, KEY_PREFIX + key, String(windowMs), String(times));
      const [hits = 0, endsAtMs = 0, nowMs = 0] = (reply as unknown[]).map(Number);
      return { hits, endsAtMs, remainingMs: endsAtMs - nowMs };
    } catch (error) {
      this.#outage.noticed(error);
      throw this.#refusal();
    }
  }

  override async ping(): Promise<void> {
    // Nobody waits for the next attempt to connect.
    if (this.#outage.isOn && this.#redis.status !== 'ready') throw this.#outage.error;
    await probeRedis(this.#redis, 'rate-limit');
  }

  override reasonOf(error: unknown): string {
    return redisFailure(error);
  }

  override async close(): Promise<void> {
    this.#outage.close();
    this.#redis.disconnect();
  }

  #refusal(): UnavailableError {
    const refusal = new UnavailableError('Redis, which counts the requests, cannot be used.', 1);
    this.#outage.noticed(refusal);
    return refusal;
  }
}
