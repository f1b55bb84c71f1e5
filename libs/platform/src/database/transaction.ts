import {
  CamelCasePlugin,
  type CompiledQuery,
  createQueryId,
  type DatabaseConnection,
  DummyDriver,
  Kysely,
  PostgresDialect,
  type QueryCompiler,
  type QueryResult,
  type RawBuilder,
} from 'kysely';
import type { QueryResult as PostgresResult, QueryResultRow } from 'pg';
import type { ConnectionPool, PooledConnection } from './connection-pool.js';
import type { AskedStatement } from './message.js';
import type { Span } from '../tracing.js';
import type { Settings } from './scope-settings.js';
import { askedOf, StatementCompiler } from './statement-compiler.js';

/** SQL without types: `Database.tables` has them. */
export type Sql = Kysely<unknown>;

/** Several statements, and the rows of each. */
export type Statements<Rows extends readonly unknown[]> = { readonly [K in keyof Rows]: RawBuilder<Rows[K]> };
export type RowsOf<Rows extends readonly unknown[]> = { readonly [K in keyof Rows]: readonly Rows[K][] };

/** Columns are in camelCase in TypeScript, also in the rows of a template; what is inside of JSON stays as it is. */
export const camelCaseColumns = new CamelCasePlugin({ maintainNestedObjectKeys: true });

/** Keeps SQL out of connections without a scope. */
class NoConnection extends DummyDriver {
  override acquireConnection(): Promise<DatabaseConnection> {
    return Promise.reject(new Error('No transaction is open.'));
  }
}

/** PostgreSQL without a connection: transactions have theirs. */
export class OfflineDialect extends PostgresDialect {
  constructor() {
    super({ pool: () => Promise.reject(new Error('No transaction is open.')) });
  }

  override createDriver(): DummyDriver {
    return new NoConnection();
  }

  override createQueryCompiler(): QueryCompiler {
    return new StatementCompiler();
  }
}

const dialect = new OfflineDialect();
const driver = new NoConnection();
const plain: Sql = new Kysely({ dialect });
const executor = plain.getExecutor();
/** Compiles. */
export const offline = plain.withPlugin(camelCaseColumns);

/** The plugin looks at none. */
const queryId = createQueryId();

/** The rows of an answer, with columns in camelCase. */
export async function camelCaseRows(result: PostgresResult): Promise<object[]> {
  const { rows } = await camelCaseColumns.transformResult({
    queryId,
    result: result as QueryResult<Record<string, unknown>>,
  });
  return rows;
}

/** A statement that writes: locks (`for update`) do not, and `on conflict do update` stands behind an INSERT. */
const WRITING = /\b(?:insert\s+into|delete\s+from|merge\s+into|(?<!\b(?:for|key|do)\s+)update)\s/i;

/** The name of a statement, in its first comment. */
const NAME = /^[^*]{0,20}\/\* (\w+) \*\//;

/** Most names of a transaction in its span. */
const MAX_NAMES = 20;

const WRITES: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

/** One transaction under settings, which ends with `commit` or `rollback`: nothing is asked in it afterwards. */
export class Transaction implements DatabaseConnection {
  readonly sql: Sql = new Kysely({
    config: { dialect },
    dialect,
    driver,
    executor: executor.withConnectionProvider({ provideConnection: (use) => use(this) }),
  });
  #tables: Sql | undefined;
  #isOver = false;
  #watchesWrites = false;
  #hasWritten = false;
  readonly #names = new Set<string>();

  private constructor(
    private readonly client: PooledConnection,
    private readonly span: Span | null,
  ) {}

  /** `span` is told the names of its statements. */
  static async begin(
    pool: ConnectionPool,
    settings: Settings,
    span: Span | null = null,
  ): Promise<Transaction> {
    const client = await pool.connect();
    const transaction = new Transaction(client, span);
    try {
      await client.open(settings);
    } catch (error) {
      await transaction.rollback();
      throw error;
    }
    return transaction;
  }

  /** Columns by the names of their properties. */
  get tables(): Sql {
    this.#tables ??= this.sql.withPlugin(camelCaseColumns);
    return this.#tables;
  }

  /** Looks at statements from now on whether they write. */
  watchWrites(): void {
    this.#watchesWrites = true;
  }

  /** A statement that wrote has been asked since `watchWrites`. Functions that write are not known. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  async executeQuery<Row>(statement: CompiledQuery): Promise<QueryResult<Row>> {
    this.#refuseLate();
    const { text, values, name } = askedOf(statement);
    this.#look(text);
    const { command, rowCount, rows } =
      name === undefined
        ? await this.client.query<Row & QueryResultRow>(text, values)
        : await this.client.query<Row & QueryResultRow>({ name, text, values });
    // Several statements have several results, which nobody reads.
    return { rows: rows ?? [], ...(WRITES.has(command) && { numAffectedRows: BigInt(rowCount ?? 0) }) };
  }

  streamQuery(): never {
    throw new Error('Rows are read at once, or by COPY.');
  }

  /** Asks statements in one message, one after the other: none behind one that fails. */
  together<Rows extends readonly unknown[]>(statements: Statements<Rows>): Promise<RowsOf<Rows>> {
    this.#refuseLate();
    return this.#ask(statements, (asked) => this.client.send(asked));
  }

  /** Commits, in one message with these last statements. */
  async commit<Rows extends readonly unknown[]>(statements: Statements<Rows>): Promise<RowsOf<Rows>> {
    this.#refuseLate();
    this.#isOver = true;
    try {
      const rows = await this.#ask(statements, (asked) => this.client.commit(asked));
      this.client.release();
      return rows;
    } catch (error) {
      await this.#undo();
      throw error;
    }
  }

  /** Never rejects: a connection that is lost has rolled back. Does nothing when the transaction is over. */
  async rollback(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#undo();
  }

  async #ask<Rows extends readonly unknown[]>(
    statements: Statements<Rows>,
    ask: (asked: readonly AskedStatement[]) => Promise<readonly PostgresResult[]>,
  ): Promise<RowsOf<Rows>> {
    const asked = statements.map((statement) => askedOf(statement.compile(this.tables)));
    for (const { text } of asked) this.#look(text);
    const results = await ask(asked);
    return (await Promise.all(results.map(camelCaseRows))) as unknown as RowsOf<Rows>;
  }

  #look(text: string): void {
    if (this.span !== null) this.#note(this.span, text);
    if (this.#watchesWrites && !this.#hasWritten) this.#hasWritten = WRITING.test(text);
  }

  #note(span: Span, text: string): void {
    const name = NAME.exec(text)?.[1];
    if (name === undefined || this.#names.has(name) || this.#names.size >= MAX_NAMES) return;
    this.#names.add(name);
    span.set({ 'db.query.summary': [...this.#names].join(' ') });
  }

  async #undo(): Promise<void> {
    try {
      await this.client.rollback();
      this.client.release();
    } catch {
      this.client.release(true);
    }
  }

  #refuseLate(): void {
    if (this.#isOver) throw new Error('The transaction is over.');
  }
}
