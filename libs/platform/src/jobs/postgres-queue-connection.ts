import { setTimeout as delay } from 'node:timers/promises';
import {
  type BackendFactory,
  PostgresConnection,
  type PostgresConnectionOptions,
  PostgresQueueBackend,
} from 'bullmq';
import type pg from 'pg';
import { QUEUE_SCHEMA } from '../database/migrations.js';
import { ConnectionPool } from '../database/connection-pool.js';
import type { Outage } from '../lifecycle/outage.js';

/** One of them listens for as long as there is a consumer. */
const CONNECTIONS = 3;
const TRY_AGAIN_MS = 1_000;

/**
 * BullMQ's connection to PostgreSQL, which comes back whenever it is lost. BullMQ's own would be lost for good where it is
 * cut before it was ready, and end the process where it is cut before anybody listens for its errors.
 */
class LastingConnection extends PostgresConnection {
  #ready: Promise<void> | undefined;
  #isTrying = false;

  constructor(
    private readonly ownPool: pg.Pool,
    private readonly outage: Outage,
  ) {
    super(ownPool);
    this.on('error', (error: Error) => {
      outage.noticed(error);
      if (!this.#isTrying) this.#ready = this.#untilReady();
    });
  }

  override waitUntilReady(): Promise<void> {
    this.#ready ??= this.#untilReady();
    return this.#ready;
  }

  override async close(): Promise<void> {
    await super.close();
    if (!this.ownPool.ended) await this.ownPool.end();
  }

  /** Never rejects: what is asked meanwhile waits, as with Redis. */
  async #untilReady(): Promise<void> {
    this.#isTrying = true;
    while (!(await this.#answers()) && this.isClosing === undefined) await delay(TRY_AGAIN_MS);
    this.#isTrying = false;
  }

  async #answers(): Promise<boolean> {
    try {
      await this.ownPool.query('select 1');
      setImmediate(() => this.emit('ready'));
      return true;
    } catch (error) {
      if (this.isClosing === undefined) this.outage.noticed(error);
      return false;
    }
  }
}

/** Backends of BullMQ on the PostgreSQL at `databaseUrl`. */
export function postgresBackends(
  databaseUrl: string,
  outage: Outage,
): BackendFactory<PostgresQueueBackend, PostgresConnectionOptions> {
  return (name, options, { withBlockingConnection } = {}) => {
    const pool = new ConnectionPool({
      connectionString: databaseUrl,
      outage,
      role: 'mailwright_system',
      settings: [`search_path = ${QUEUE_SCHEMA}`, 'synchronous_commit = off'],
      max: CONNECTIONS,
      keepAlive: true,
      application_name: 'mailwright-queue',
    });
    const connection = new LastingConnection(pool, outage);
    return new PostgresQueueBackend(
      connection,
      name,
      options,
      true,
      withBlockingConnection ? name : undefined,
    );
  };
}
