import { AsyncLocalStorage } from 'node:async_hooks';
import {
  CompiledQuery,
  type DatabaseConnection,
  PostgresDialect,
  type PostgresDialectConfig,
  PostgresDriver,
  type TransactionSettings,
} from 'kysely';

/** What a transaction sets before its first statement, sent together with BEGIN. */
export const transactionPreamble = new AsyncLocalStorage<string>();

/**
 * Kysely gives a connection back only behind a BEGIN that began or a ROLLBACK that was answered. A connection that is
 * lost does neither, so it is given back here, and the pool makes another one in its place.
 */
class ScopedDriver extends PostgresDriver {
  override async beginTransaction(
    connection: DatabaseConnection,
    settings: TransactionSettings,
  ): Promise<void> {
    try {
      await this.#begin(connection, settings);
    } catch (error) {
      await this.rollbackTransaction(connection);
      await this.releaseConnection(connection as Parameters<PostgresDriver['releaseConnection']>[0]);
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
  readonly #config: PostgresDialectConfig;

  constructor(config: PostgresDialectConfig) {
    super(config);
    this.#config = config;
  }

  override createDriver(): PostgresDriver {
    return new ScopedDriver(this.#config);
  }
}
