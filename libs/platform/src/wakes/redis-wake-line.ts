import { Redis } from 'ioredis';
import { FOLLOWS_FAILOVER } from '../lifecycle/redis-failure.js';
import type { WakeLine } from './wakes.js';

/** Of the channels in Redis, which all its databases share. */
export const REDIS_PREFIX = 'mailwright:wake:';
/** A wake-up is not worth waiting longer. */
const PATIENCE_MS = 1_000;

/** PUBLISH in Redis, on a connection that opens with the first wake-up. */
export function redisWakeLine(url: string): WakeLine {
  const redis = new Redis(url, {
    ...FOLLOWS_FAILOVER,
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    commandTimeout: PATIENCE_MS,
  });
  redis.on('error', () => undefined);
  return {
    send: async (wakes) => {
      await Promise.all(wakes.map(({ channel, payload }) => redis.publish(REDIS_PREFIX + channel, payload)));
    },
    close: () => redis.disconnect(),
  };
}
