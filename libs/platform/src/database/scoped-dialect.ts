import { AsyncLocalStorage } from 'node:async_hooks';
import {
  CompiledQuery,
  type DatabaseConnection,
  type LimitNode,
  type OffsetNode,
  type OperationNode,
  PostgresDialect,
  PostgresDriver,
  PostgresQueryCompiler,
  type QueryCompiler,
  type RawNode,
  type TransactionSettings,
  ValueNode,
} from 'kysely';
import type pg from 'pg';
import type { Clock, ProjectScope } from '#kernel';

/**
 * Statements that let the rest of a transaction see the rows of `scope` alone, or of all projects. They set the role, too,
 * whatever happened to the connection since it began. Throws for an invalid scope.
 */
export function preambleOf(scope: ProjectScope | 'system'): string {
  if (scope === 'system') return 'set local role mailwright_system';
  const ids = [scope.environmentId, scope.projectId, scope.tenantId];
  if (!ids.every((id) => Number.isSafeInteger(id) && id > 0)) throw new Error('The scope is not valid.');
  return (
    'set local role mailwright_app; ' +
    `set local mailwright.environment_id = '${scope.environmentId}'; ` +
    `set local mailwright.project_id = '${scope.projectId}'; ` +
    `set local mailwright.tenant_id = '${scope.tenantId}'`
  );
}

/** Has `platform.now()` tell the time of a test's clock; the server's own without one. */
export function clockPreamble(clock: Clock | undefined): string {
  return clock === undefined ? '' : `; set local mailwright.now = '${clock.now().toISOString()}'`;
}

/** Settings of a transaction, made for all that follow on the connection. */
export function lasting(settings: string): string {
  return settings.replaceAll('set local', 'set');
}

/** Settings of a transaction, sent together with BEGIN. */
export const transactionPreamble = new AsyncLocalStorage<string>();

/**
 * Gives each connection back once, also a lost one, which Kysely keeps where the BEGIN of a controlled transaction failed; and
 * ends the pool only after all are back.
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

const LIMIT = /\blimit $/i;
const OFFSET = /\boffset $/i;

/**
 * Writes limits and offsets of 0 as literals: a plan for any values takes an unknown limit for a tenth of all rows, and reads
 * them all. A prepared statement with ever other limits computes it: `limit least(…)`.
 */
class LiteralLimits extends PostgresQueryCompiler {
  protected override visitRaw({ sqlFragments, parameters }: RawNode): void {
    for (const [index, fragment] of sqlFragments.entries()) {
      this.append(fragment);
      const value = parameters[index];
      if (value === undefined) continue;
      if (LIMIT.test(fragment)) this.#visitLimit(value);
      else if (OFFSET.test(fragment)) this.#visitOffset(value);
      else this.visitNode(value);
    }
  }

  protected override visitLimit({ limit }: LimitNode): void {
    this.append('limit ');
    this.#visitLimit(limit);
  }

  protected override visitOffset({ offset }: OffsetNode): void {
    this.append('offset ');
    this.#visitOffset(offset);
  }

  #visitLimit(node: OperationNode): void {
    if (ValueNode.is(node) && Number.isSafeInteger(node.value)) this.appendImmediateValue(node.value);
    else this.visitNode(node);
  }

  #visitOffset(node: OperationNode): void {
    if (ValueNode.is(node) && node.value === 0) this.appendImmediateValue(0);
    else this.visitNode(node);
  }
}

/** PostgreSQL, where BEGIN and the settings of row-level security travel in one round trip. */
export class ScopedPostgresDialect extends PostgresDialect {
  constructor(private readonly pool: pg.Pool) {
    super({ pool });
  }

  override createQueryCompiler(): QueryCompiler {
    return new LiteralLimits();
  }

  override createDriver(): PostgresDriver {
    return new ScopedDriver(this.pool);
  }
}
