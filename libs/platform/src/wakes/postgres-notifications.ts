import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { Notifications } from './notifications.js';

const RECONNECT_MS = 500;

/** LISTEN on one connection of its own, which is opened anew when it breaks. */
export class PostgresNotifications extends Notifications {
  #client: pg.Client | undefined;
  #running = false;
  /** A connection takes one statement after the other. */
  #listening: Promise<unknown> = Promise.resolve();

  /** `keep`: told of each connection, which whoever cuts the process's connections cuts too. */
  constructor(
    private readonly databaseUrl: string,
    private readonly keep: (client: pg.Client) => void = () => undefined,
  ) {
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
    const client = new pg.Client({
      connectionString: this.databaseUrl,
      application_name: 'mailwright-listen',
      keepAlive: true,
    });
    client.on('error', () => void this.#reconnect(client));
    client.on('end', () => void this.#reconnect(client));
    client.on('notification', ({ channel, payload }) => this.deliver(channel, payload ?? ''));
    this.keep(client);
    await client.connect();
    for (const channel of this.channels) await client.query(`listen ${channel}`);
    if (this.#running) this.#client = client;
    else await client.end();
  }

  async #reconnect(lost: pg.Client): Promise<void> {
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
