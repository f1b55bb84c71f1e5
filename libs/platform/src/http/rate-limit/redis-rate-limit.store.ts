import { Redis } from 'ioredis';
import { RateLimitStore, type WindowHit } from './rate-limit.js';

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

/** Counts in Redis. */
export class RedisRateLimitStore extends RateLimitStore {
  readonly #redis: Redis;

  constructor(url: string) {
    super();
    this.#redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1, disconnectTimeout: 200 });
    // A lost connection is told by the command that needs it.
    this.#redis.on('error', () => undefined);
  }

  override async hit(key: string, windowSeconds: number, times: number): Promise<WindowHit> {
    const reply = await this.#redis.eval(
      HIT,
      1,
      KEY_PREFIX + key,
      String(windowSeconds * 1000),
      String(times),
    );
    const [hits = 0, endsAtMs = 0, nowMs = 0] = (reply as unknown[]).map(Number);
    return { hits, endsAtMs, remainingMs: endsAtMs - nowMs };
  }

  override async ping(): Promise<void> {
    await this.#redis.ping();
  }

  override async close(): Promise<void> {
    this.#redis.disconnect();
  }
}
