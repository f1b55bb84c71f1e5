import type pg from 'pg';
import { FORGET_PLANS, PlanAge } from './plan-age.js';

/** A statement that the server plans once a connection, for a while; without a name, at each run. */
interface PreparedStatement {
  readonly name: string | undefined;
  readonly text: string;
  readonly values: unknown[];
}

/**
 * Connections for nothing but single statements. Their settings stay from one statement to the next, so that a
 * statement for the same scope as the one before is one round trip. Within a transaction, on the connections that all share,
 * settings end with it: there `prepared` marks a statement instead.
 */
export class PreparedStatements {
  readonly #settings = new WeakMap<pg.PoolClient, string>();
  readonly #ages = new WeakMap<pg.PoolClient, PlanAge>();

  constructor(private readonly pool: pg.Pool) {}

  /** Runs it where `settings`, which sets all that any other sets, is in force. */
  async run<Row>(settings: string, statement: PreparedStatement): Promise<Row[]> {
    const client = await this.pool.connect();
    try {
      if (this.#settings.get(client) !== settings) {
        await client.query(settings);
        this.#settings.set(client, settings);
      }
      if (this.#ageOf(client).isOver()) await client.query(FORGET_PLANS);
      const { rows } = await client.query(statement);
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

  #ageOf(client: pg.PoolClient): PlanAge {
    const age = this.#ages.get(client) ?? new PlanAge();
    this.#ages.set(client, age);
    return age;
  }
}
