import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

/** Called with the payload, or with null when messages may have been missed and the caller must look for itself. */
export type NotificationHandler = (payload: string | null) => void;

const RECONNECT_MS = 500;

/**
 * LISTEN on one connection of its own, kept for the life of the process and opened anew when it breaks.
 * NOTIFY is only ever a hint: whoever listens also looks from time to time.
 */
export class Notifications {
  readonly #handlers = new Map<string, Set<NotificationHandler>>();
  #client: pg.Client | undefined;
  #running = false;
  /** A connection takes one statement after the other. */
  #listening: Promise<unknown> = Promise.resolve();

  constructor(private readonly databaseUrl: string) {}

  async start(): Promise<void> {
    this.#running = true;
    await this.#connect();
  }

  /** Calls `handler` for each message on `channel`; the returned function ends that. */
  listen(channel: string, handler: NotificationHandler): () => void {
    const handlers = this.#handlers.get(channel) ?? new Set();
    const first = handlers.size === 0;
    this.#handlers.set(channel, handlers.add(handler));
    if (first) this.#listening = this.#listening.then(() => this.#listenOn(channel)).catch(() => undefined);
    return () => handlers.delete(handler);
  }

  async stop(): Promise<void> {
    this.#running = false;
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
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
    client.on('notification', ({ channel, payload }) => this.#deliver(channel, payload ?? ''));
    await client.connect();
    for (const channel of this.#handlers.keys()) await client.query(`listen ${channel}`);
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
    for (const channel of this.#handlers.keys()) this.#deliver(channel, null);
  }

  #deliver(channel: string, payload: string | null): void {
    for (const handler of this.#handlers.get(channel) ?? []) handler(payload);
  }
}
