import { setTimeout as delay } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { Connection } from './database/connection.js';
import { named } from './database/statement.js';
import { Notifications, type NotificationTransport } from './notifications.js';

const RECONNECT_MS = 500;

/** LISTEN on one connection of its own, which is opened anew when it breaks. */
export class PostgresNotifications extends Notifications {
  #client: Connection | undefined;
  #running = false;
  /** A connection takes one statement after the other. */
  #listening: Promise<unknown> = Promise.resolve();

  constructor(private readonly databaseUrl: string) {
    super();
  }

  override async start(): Promise<void> {
    this.#running = true;
    await this.#connect();
  }

  override async stop(): Promise<void> {
    this.#running = false;
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  protected override subscribe(channel: string): void {
    this.#listening = this.#listening.then(() => this.#listenOn(channel)).catch(() => undefined);
  }

  async #listenOn(channel: string): Promise<void> {
    await this.#client?.query(`listen ${channel}`);
  }

  async #connect(): Promise<void> {
    const client = new Connection({
      connectionString: this.databaseUrl,
      application_name: 'mailwright-listen',
      keepAlive: true,
    });
    client.on('error', () => void this.#reconnect(client));
    client.on('end', () => void this.#reconnect(client));
    client.on('notification', ({ channel, payload }) => this.deliver(channel, payload ?? ''));
    await client.connect();
    for (const channel of this.channels) await client.query(`listen ${channel}`);
    if (this.#running) this.#client = client;
    else await client.end();
  }

  async #reconnect(lost: Connection): Promise<void> {
    if (!this.#running || this.#client !== lost) return;
    this.#client = undefined;
    while (this.#running && this.#client === undefined) {
      await delay(RECONNECT_MS, undefined, { ref: false });
      if (!this.#running) return;
      await this.#connect().catch(() => undefined);
    }
    this.deliverMissed();
  }
}

/** NOTIFY, by `run` in a transaction of its own that waits for no disk: all others that notify wait for it. */
export function postgresTransport(
  run: (notify: RawBuilder<unknown>) => Promise<unknown>,
): NotificationTransport {
  return {
    send: (notifications) => {
      const channels = notifications.map(({ channel }) => channel);
      const payloads = notifications.map(({ payload }) => payload);
      return run(sql`${named('notify')}
        select pg_notify(channel, payload) from unnest(${channels}::text[], ${payloads}::text[]) w(channel, payload)
      `);
    },
    close: () => undefined,
  };
}
