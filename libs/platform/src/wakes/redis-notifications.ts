import { Redis } from 'ioredis';
import { FOLLOWS_FAILOVER } from '../lifecycle/redis-failure.js';
import { Notifications } from './notifications.js';
import { REDIS_PREFIX } from './redis-wake-line.js';

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
    // Whoever cannot do without Redis tells of it.
    this.#redis.on('error', () => undefined);
    this.#redis.on('message', (channel: string, payload: string) =>
      this.deliver(channel.slice(REDIS_PREFIX.length), payload),
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
    await this.#redis.subscribe(...channels.map((channel) => REDIS_PREFIX + channel)).catch(() => undefined);
  }
}
