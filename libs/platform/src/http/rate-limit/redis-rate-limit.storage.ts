import { Redis } from 'ioredis';
import { UnavailableError } from '#kernel';
import { Outage, type OutageListener } from '../../lifecycle/outage.js';
import { RateLimitStorage } from './rate-limit.storage.js';
import type { WindowHit } from './shared-hits.js';

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

/** Counts in Redis. While it is away, nobody waits for it. */
export class RedisRateLimitStorage extends RateLimitStorage {
  readonly #redis: Redis;
  #isAway = false;
  #isClosed = false;

  constructor(url: string, listener: OutageListener) {
    super();
    this.#redis = new Redis(url, {
      lazyConnect: true,
      maxRetriesPerRequest: 0,
      socketTimeout: SILENCE_MS,
      disconnectTimeout: 200,
    });
    const outage = new Outage(listener);
    this.#redis.on('error', (error) => outage.noticed(this, error));
    this.#redis.on('close', () => {
      this.#isAway = true;
      // It may be back before anybody fails to reach it, but some have got 503.
      if (!this.#isClosed) outage.noticed(this, new Error('The connection was closed.'));
    });
    this.#redis.on('ready', () => {
      this.#isAway = false;
      outage.isOver(this);
    });
  }

  protected override async count(key: string, windowMs: number, times: number): Promise<WindowHit> {
    this.#refuseWhileAway();
    const reply = await this.#redis.eval(HIT, 1, KEY_PREFIX + key, String(windowMs), String(times));
    const [hits = 0, endsAtMs = 0, nowMs = 0] = (reply as unknown[]).map(Number);
    return { hits, endsAtMs, remainingMs: endsAtMs - nowMs };
  }

  override async ping(): Promise<void> {
    this.#refuseWhileAway();
    await this.#redis.ping();
  }

  override async close(): Promise<void> {
    this.#isClosed = true;
    this.#redis.disconnect();
  }

  #refuseWhileAway(): void {
    if (this.#isAway) throw new UnavailableError('Redis, which counts the requests, does not answer.', 1);
  }
}
