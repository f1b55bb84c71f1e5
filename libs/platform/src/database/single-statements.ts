import type pg from 'pg';
import { PREPARED_MARK } from './prepared.js';
import { lasting } from './scope-settings.js';
import { isDistributed } from './session.js';

/**
 * Connections for nothing but single statements, each prepared and a transaction of its own. On one server settings stay from one
 * statement to the next, so that a statement for the same scope as the one before is one round trip; the nodes of Citus are told
 * those of a transaction alone.
 */
export class SingleStatements {
  readonly #settings = new WeakMap<pg.PoolClient, string>();

  constructor(private readonly pool: pg.Pool) {}

  /** Runs it where `settings` of a transaction (`set local`), which set all that any other sets, are in force. */
  async run<Row>(settings: string, text: string, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.pool.connect();
    try {
      if (isDistributed(client)) await client.query(`begin; ${settings}`);
      else if (this.#settings.get(client) !== settings) {
        await client.query(lasting(settings));
        this.#settings.set(client, settings);
      }
      const { rows } = await client.query(`${PREPARED_MARK}${text}`, [...values]);
      if (isDistributed(client)) await client.query('commit');
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
