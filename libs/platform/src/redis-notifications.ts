import { Redis } from 'ioredis';
import { FOLLOWS_FAILOVER } from './lifecycle/redis-failure.js';
import { Notifications, type NotificationTransport } from './notifications.js';

/** Prefix of the channels in Redis, which all its databases share. */
const PREFIX = 'mailwright:wake:';
const SEND_TIMEOUT_MS = 1_000;

/** SUBSCRIBE on one connection of its own. A Redis that is away keeps no process from starting. */
export class RedisNotifications extends Notifications {
  readonly #redis: Redis;

  constructor(url: string) {
    super();
    this.#redis = new Redis(url, {
      ...FOLLOWS_FAILOVER,
      lazyConnect: true,
      maxRetriesPerRequest: null,
      autoResubscribe: false,
    });
    // Queues and rate limits, which need Redis, tell of its faults.
    this.#redis.on('error', () => undefined);
    this.#redis.on('message', (channel: string, payload: string) =>
      this.deliver(channel.slice(PREFIX.length), payload),
    );
    this.#redis.on('ready', () => void this.#subscribeAgain());
  }

  override async start(): Promise<void> {
    await this.#redis.connect().catch(() => undefined);
    if (this.#redis.status === 'ready') await this.#subscribeTo(this.channels);
  }

  override async stop(): Promise<void> {
    if (this.#redis.status !== 'end') this.#redis.disconnect();
  }

  protected override subscribe(channel: string): void {
    if (this.#redis.status === 'ready') void this.#subscribeTo([channel]);
  }

  async #subscribeAgain(): Promise<void> {
    await this.#subscribeTo(this.channels);
    this.deliverMissed();
  }

  async #subscribeTo(channels: readonly string[]): Promise<void> {
    if (channels.length === 0) return;
    await this.#redis.subscribe(...channels.map((channel) => PREFIX + channel)).catch(() => undefined);
  }
}

/** PUBLISH in Redis, on a connection that opens with the first notification. */
export function redisTransport(url: string): NotificationTransport {
  const redis = new Redis(url, {
    ...FOLLOWS_FAILOVER,
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    commandTimeout: SEND_TIMEOUT_MS,
  });
  redis.on('error', () => undefined);
  return {
    send: async (notifications) => {
      await Promise.all(
        notifications.map(({ channel, payload }) => redis.publish(PREFIX + channel, payload)),
      );
    },
    close: () => redis.disconnect(),
  };
}
