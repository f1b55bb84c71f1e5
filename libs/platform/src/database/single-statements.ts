import type pg from 'pg';
import { PREPARED_MARK } from './prepared.js';

/**
 * Connections for nothing but single statements, each prepared and a transaction of its own. Settings stay from one
 * statement to the next, so that a statement for the same scope as the one before is one round trip.
 */
export class SingleStatements {
  readonly #settings = new WeakMap<pg.PoolClient, string>();

  constructor(private readonly pool: pg.Pool) {}

  /** Runs it where `settings`, which sets all that any other sets, is in force. */
  async run<Row>(settings: string, text: string, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.pool.connect();
    try {
      if (this.#settings.get(client) !== settings) {
        await client.query(settings);
        this.#settings.set(client, settings);
      }
      const { rows } = await client.query(`${PREPARED_MARK}${text}`, [...values]);
      client.release();
      return rows as Row[];
    } catch (error) {
      // It may be lost, or half set: it is not used again.
      client.release(true);
      throw error;
    }
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}
