import { AsyncLocalStorage } from 'node:async_hooks';
import type pg from 'pg';
import {
  CompiledQuery,
  type DatabaseConnection,
  PostgresDialect,
  PostgresDriver,
  type TransactionSettings,
} from 'kysely';

/** What a transaction sets before its first statement, sent together with BEGIN. */
export const transactionPreamble = new AsyncLocalStorage<string>();

/**
 * Where a connection is lost, Kysely may not give it back: a transaction that is begun apart gives it back behind a BEGIN that
 * began, one that runs a function always does. And once it ends the pool, it forgets whom it is just getting a connection for.
 * Here each is given back once, and the pool makes another one in its place.
 */
class ScopedDriver extends PostgresDriver {
  readonly #held = new WeakSet<DatabaseConnection>();

  constructor(private readonly pool: pg.Pool) {
    super({ pool });
  }

  override async acquireConnection(
    ...options: Parameters<PostgresDriver['acquireConnection']>
  ): Promise<DatabaseConnection> {
    const connection = await super.acquireConnection(...options);
    this.#held.add(connection);
    return connection;
  }

  override async releaseConnection(connection: DatabaseConnection): Promise<void> {
    if (this.#held.delete(connection))
      await super.releaseConnection(connection as Parameters<PostgresDriver['releaseConnection']>[0]);
  }

  /** Resolves when all are given back. */
  override destroy(): Promise<void> {
    return this.pool.end();
  }

  override async beginTransaction(
    connection: DatabaseConnection,
    settings: TransactionSettings,
  ): Promise<void> {
    try {
      await this.#begin(connection, settings);
    } catch (error) {
      await this.rollbackTransaction(connection);
      await this.releaseConnection(connection);
      throw error;
    }
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction(connection).catch(() => undefined);
  }

  async #begin(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const preamble = transactionPreamble.getStore();
    if (
      preamble === undefined ||
      settings.isolationLevel !== undefined ||
      settings.accessMode !== undefined
    ) {
      await super.beginTransaction(connection, settings);
      if (preamble !== undefined) await connection.executeQuery(CompiledQuery.raw(preamble));
      return;
    }
    await connection.executeQuery(CompiledQuery.raw(`begin; ${preamble}`));
  }
}

/** PostgreSQL, where BEGIN and the settings of row-level security travel in one round trip. */
export class ScopedPostgresDialect extends PostgresDialect {
  constructor(private readonly pool: pg.Pool) {
    super({ pool });
  }

  override createDriver(): PostgresDriver {
    return new ScopedDriver(this.pool);
  }
}
