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
  type QueryId,
  type QueryResult,
  type RawNode,
  type RootOperationNode,
  type TransactionSettings,
  ValueNode,
} from 'kysely';
import type { Clock, ProjectScope } from '#kernel';
import type { Connection } from './connection.js';
import type { ConnectionPool, PooledConnection } from './connection-pool.js';
import { WithoutIndex } from './planner.js';
import { type Statement, StatementName } from './statement.js';

/** Rows that a transaction sees: those of one environment, of all, or none (`unscoped`, before there is a scope). */
export type Sight = ProjectScope | 'system' | 'unscoped';

/**
 * Settings (`name = value`) by which a transaction sees these rows alone. They say the role, too, whatever happened to the
 * connection since it began, and `platform.now()` tells the time of a test's clock. Throws for an invalid scope.
 */
export function settingsOf(sight: Sight, clock?: Clock): readonly string[] {
  const time = clock === undefined ? [] : [`mailwright.now = '${clock.now().toISOString()}'`];
  if (sight === 'system') return ['role mailwright_system', ...time];
  const ids = sight === 'unscoped' ? ['', '', ''] : [sight.environmentId, sight.projectId, sight.tenantId];
  if (!ids.every((id) => id === '' || (Number.isSafeInteger(id) && Number(id) > 0)))
    throw new Error('The scope is not valid.');
  const [environment, project, tenant] = ids;
  return [
    'role mailwright_app',
    `mailwright.environment_id = '${environment}'`,
    `mailwright.project_id = '${project}'`,
    `mailwright.tenant_id = '${tenant}'`,
    ...time,
  ];
}

/** Makes settings for the rest of a transaction. */
export const setLocal = (settings: readonly string[]): string =>
  settings.map((setting) => `set local ${setting}`).join('; ');

/** Makes settings for all that follow on a connection. */
export const setForGood = (settings: readonly string[]): string =>
  settings.map((setting) => `set ${setting}`).join('; ');

/** Settings of a transaction, sent together with BEGIN. */
export const transactionSettings = new AsyncLocalStorage<readonly string[]>();

const LIMIT = /\blimit $/i;
const OFFSET = /\boffset $/i;

/**
 * Writes limits and offsets of 0 as literals: a plan for any values takes an unknown limit for a tenth of all rows, and reads
 * them all. A prepared statement with ever other limits computes it: `limit least(…)`. Names statements (`named`), and hides
 * from the planner what no index may answer (`planner.ts`), which Citus must know.
 */
class StatementCompiler extends PostgresQueryCompiler {
  #name: string | undefined;
  #hides = false;

  constructor(private readonly isForCitus = false) {
    super();
  }

  override compileQuery(node: RootOperationNode, queryId: QueryId): Statement {
    [this.#name, this.#hides] = [undefined, false];
    const compiled = super.compileQuery(node, queryId);
    return { ...compiled, name: this.#name, hides: this.#hides };
  }

  protected override visitValue(node: ValueNode): void {
    const { value } = node;
    if (value instanceof StatementName) {
      this.#name = value.name;
      this.append(`/* ${value.name} */`);
    } else if (value instanceof WithoutIndex) {
      this.#hides = true;
      this.append(this.isForCitus ? '' : ' is true');
    } else super.visitValue(node);
  }

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

const forCitus = new StatementCompiler(true);

/** The text of a statement for a server: PostgreSQL, or the coordinator of Citus. */
export function textFor(statement: Statement, { isDistributed }: Pick<Connection, 'isDistributed'>): string {
  if (!isDistributed || statement.hides !== true) return statement.sql;
  return forCitus.compileQuery(statement.query, statement.queryId).sql;
}

const WRITES: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

/** Asks a compiled statement: prepared where it has a name, and in the form that the server needs. */
export async function ask<Row>(client: Connection, statement: Statement) {
  const { name, parameters } = statement;
  const text = textFor(statement, client);
  const values = [...parameters];
  return name === undefined
    ? client.query<Row & object>(text, values)
    : client.query<Row & object>({ name, text, values });
}

/** Gives its connection back once, also a lost one, which Kysely keeps where the BEGIN of a controlled transaction failed. */
class ScopedConnection implements DatabaseConnection {
  #isHeld = true;

  constructor(private readonly client: PooledConnection) {}

  async executeQuery<Row>(statement: CompiledQuery): Promise<QueryResult<Row>> {
    const { command, rowCount, rows } = await ask<Row>(this.client, statement);
    // Several statements have several results, which nobody reads.
    return { rows: rows ?? [], ...(WRITES.has(command) && { numAffectedRows: BigInt(rowCount ?? 0) }) };
  }

  streamQuery(): never {
    throw new Error('Rows are read at once, or by COPY.');
  }

  release(): void {
    if (this.#isHeld) this.client.release();
    this.#isHeld = false;
  }
}

/** Sends BEGIN and the settings of row-level security in one round trip. */
class ScopedDriver extends PostgresDriver {
  constructor(private readonly pool: ConnectionPool) {
    super({ pool });
  }

  override async acquireConnection(): Promise<ScopedConnection> {
    return new ScopedConnection(await this.pool.connect());
  }

  override async releaseConnection(connection: DatabaseConnection): Promise<void> {
    (connection as ScopedConnection).release();
  }

  /** Resolves when all connections are given back. */
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
    const own = transactionSettings.getStore();
    if (own === undefined) await super.beginTransaction(connection, settings);
    else await connection.executeQuery(CompiledQuery.raw(`begin; ${setLocal(own)}`));
  }
}

/** PostgreSQL by our connections. */
export class ScopedPostgresDialect extends PostgresDialect {
  constructor(private readonly pool: ConnectionPool) {
    super({ pool });
  }

  override createQueryCompiler(): QueryCompiler {
    return new StatementCompiler();
  }

  override createDriver(): PostgresDriver {
    return new ScopedDriver(this.pool);
  }
}
