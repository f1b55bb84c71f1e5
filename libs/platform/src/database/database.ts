import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type EntityManager,
  type EntitySchema,
  type EntitySchemaWithMeta,
  type InferKyselyTable,
  MikroORM,
} from '@mikro-orm/postgresql';
import { CamelCasePlugin, type CompiledQuery, Kysely, type RawBuilder } from 'kysely';
import type pg from 'pg';
import type { Clock, ProjectScope } from '#kernel';
import { Outage } from '../lifecycle/outage.js';
import { type Notification, type NotificationTransport, Notifier } from '../notifications.js';
import { postgresTransport } from '../postgres-notifications.js';
import { GENERIC_PLANS, onOwnConnection, poolOf, type PoolOptions } from './connection-pool.js';
import { copyIn } from './copy.js';
import { refuseReadOnly, refuseTransactionPooling } from './fit-database.js';
import { AskedTogether, SingleStatements } from './prepared.js';
import { letIdle, READ_ONLY, readOnlyWithin, ReadReplica } from './read-replica.js';
import { clockPreamble, preambleOf, ScopedPostgresDialect, transactionPreamble } from './scoped-dialect.js';
import { checkPool, cutSessions, UnsafeSessionError } from './session.js';

/**
 * The tables of entities for typed SQL, with columns by the names of their properties: `Tables<'billing', typeof PlanSchema>` has
 * `billing.plans`. A context adds its tables without a class, and exports them all as one type.
 */
export type Tables<Schema extends string, Entities extends EntitySchemaWithMeta> = {
  [Entity in Entities as `${Schema}.${Entity['tableName']}`]: InferKyselyTable<
    Entity,
    { columnNamingStrategy: 'property' }
  >;
};

/** Columns are in camelCase in TypeScript, also in the rows of a template; what is inside of JSON stays as it is. */
export const camelCaseColumns = new CamelCasePlugin({ maintainNestedObjectKeys: true });

/** SQL without types: `Database.tables` has them. */
type Sql = Kysely<unknown>;

export interface DatabaseOptions extends PoolOptions {
  readonly entities: readonly EntitySchema[];
  /** A test's clock, which `platform.now()` then tells, too. Default: the server's own. */
  readonly clock?: Clock | undefined;
  /** Default: NOTIFY. */
  readonly notificationTransport?: NotificationTransport | undefined;
  /** URL of a standby, for `replicaRead`. */
  readonly readUrl?: string | undefined;
}

interface OpenTransaction {
  readonly scope: ProjectScope | 'system';
  /** A replica read has none. */
  readonly em?: EntityManager;
  readonly sql: Sql;
  /** To be sent once it is committed. */
  readonly notifications: Notification[];
  /** Once they are asked for. */
  tables?: Sql;
}

export interface ReadOptions {
  /** Uses connections apart: a page far down a list may take as long as hundreds of look-ups. */
  readonly isList?: boolean;
}

/** Options of `Database.statement`. */
export interface StatementOptions extends ReadOptions {
  /** False: resolves before the write outlasts a crash of the server, which is certain with the next flushed transaction. */
  readonly flushed?: boolean;
}

const LOOK_UP_CONNECTIONS = 2;
const LIST_CONNECTIONS = 4;

/**
 * The way to PostgreSQL. Every statement of a request or job runs in a transaction of one project environment (`transaction`),
 * where row-level security shows only its rows, or, for work across projects, of the system (`system`).
 *
 * A call inside an open transaction of the same scope joins it; of another scope it throws. Inside, `em` is its unit of work and
 * `tables` its SQL. SQL does not see what the unit of work has not written yet: flush before it reads.
 */
export class Database {
  readonly #orm: MikroORM;
  readonly #clock: Clock | undefined;
  readonly #notifier: Notifier;
  readonly #current = new AsyncLocalStorage<OpenTransaction>();
  #compiler: Sql | undefined;
  readonly #replica: ReadReplica | undefined;
  readonly #asked = new AskedTogether((statement) => this.statement('system', statement));

  private constructor(
    orm: MikroORM,
    readonly pool: pg.Pool,
    private readonly lookUps: SingleStatements,
    private readonly lists: { readonly single: SingleStatements; readonly sql: Sql },
    private readonly options: DatabaseOptions,
    readonly outage: Outage,
  ) {
    const { clock, notificationTransport, readUrl } = options;
    this.#orm = orm;
    this.#clock = clock;
    const notify = postgresTransport((statement) => this.statement('system', statement, { flushed: false }));
    this.#notifier = new Notifier(notificationTransport ?? notify);
    if (readUrl === undefined) return;
    // No part of the outage: without the replica the primary answers.
    const atReplica = { ...options, url: readUrl, outage: undefined };
    this.#replica = new ReadReplica(atReplica, (statement) => this.statement('system', statement));
  }

  static async connect(given: DatabaseOptions): Promise<Database> {
    const outage: Outage = new Outage(async () => {
      await database.ping();
      await refuseTransactionPooling(database.pool);
      if (!(outage.error instanceof UnsafeSessionError)) return;
      await cutSessions();
      await database.ping();
    });
    const options = { ...given, outage };
    const pool = poolOf(options, options.poolSize);
    const dialect = new ScopedPostgresDialect(pool);
    const orm = await MikroORM.init({
      entities: [...options.entities],
      dbName: 'mailwright',
      // A function, since options are merged and a merged pool is a broken copy.
      driverOptions: () => dialect,
      discovery: { warnWhenNoEntities: false },
      ensureDatabase: false,
      allowGlobalContext: false,
    });
    const lookUps = new SingleStatements(poolOf(options, LOOK_UP_CONNECTIONS, GENERIC_PLANS));
    const ofLists = poolOf(options, LIST_CONNECTIONS, GENERIC_PLANS);
    const lists = {
      single: new SingleStatements(ofLists),
      sql: new Kysely<unknown>({ dialect: new ScopedPostgresDialect(ofLists) }),
    };
    const database = new Database(orm, pool, lookUps, lists, options, outage);
    return database;
  }

  /** Runs `work` in one transaction that sees only the rows of `scope`; commits when it resolves. */
  transaction<T>(scope: ProjectScope, work: () => Promise<T>): Promise<T> {
    return this.#run(scope, work);
  }

  /**
   * Runs `work`, which only reads, by `tables`, and may be run twice: on the read replica when that has all that was committed
   * before, else on the primary. Within an open transaction it may see what that one has written, or not.
   */
  async replicaRead<T>(
    scope: ProjectScope,
    work: () => Promise<T>,
    { isList = false }: ReadOptions = {},
  ): Promise<T> {
    const open = this.#openOf(scope);
    if (open !== undefined && open.em === undefined) return work();
    const settings = `${READ_ONLY}; ${this.#settingsOf(scope)}`;
    const read = (transaction: Sql): Promise<T> =>
      this.#current.run({ sql: transaction, scope, notifications: [] }, work);
    if (this.#replica !== undefined) {
      if (open !== undefined) await letIdle(open.sql);
      const answer = await this.#replica.read(settings, read);
      if (answer !== null) return answer.value;
    }
    const primary = isList ? this.lists.sql : this.unscoped;
    if (open === undefined)
      return transactionPreamble.run(settings, () => primary.transaction().execute(read));
    return readOnlyWithin(open.sql, read);
  }

  /** Runs `work`, which reads a page of a list by `tables`, on the connections of lists, planned for any values. */
  async list<T>(scope: ProjectScope, work: () => Promise<T>): Promise<T> {
    if (this.#openOf(scope) !== undefined) return work();
    this.#refuseForeignSessions();
    return transactionPreamble.run(`${READ_ONLY}; ${this.#settingsOf(scope)}`, () =>
      this.lists.sql
        .transaction()
        .execute((transaction) => this.#current.run({ sql: transaction, scope, notifications: [] }, work)),
    );
  }

  /** The replica that answers `replicaRead`, where there is one. */
  get replica(): Pick<ReadReplica, 'answered' | 'check'> | undefined {
    return this.#replica;
  }

  /** Runs `work` in one transaction that sees all projects' rows. For workers and operators only. */
  system<T>(work: () => Promise<T>): Promise<T> {
    return this.#run('system', work);
  }

  /** The unit of work of the open transaction. Throws outside of one. */
  get em(): EntityManager {
    const { em } = this.#open();
    if (em === undefined) throw new Error('A replica read has no unit of work.');
    return em;
  }

  /** SQL of the open transaction, on the tables of one or several contexts (`Tables`). Throws outside of a transaction. */
  tables<DB>(): Kysely<DB> {
    const open = this.#open();
    open.tables ??= open.sql.withPlugin(camelCaseColumns);
    return open.tables as Kysely<DB>;
  }

  /** The same outside of a transaction and without a scope: row-level security shows it no rows. */
  unscopedTables<DB>(): Kysely<DB> {
    this.#refuseForeignSessions();
    return this.unscoped.withPlugin(camelCaseColumns) as Kysely<DB>;
  }

  /**
   * Runs one `COPY … FROM STDIN` with `data` in a transaction of its own, into a table without row-level security. It need not be
   * durable where a later commit says that the data is there.
   */
  async copy(
    scope: ProjectScope,
    statement: string,
    data: Buffer,
    { isDurable = true }: { readonly isDurable?: boolean } = {},
  ): Promise<void> {
    const client = await this.pool.connect();
    const commits = isDurable ? '' : '; set local synchronous_commit = off';
    try {
      await client.query(`begin; ${this.#settingsOf(scope)}${commits}`);
      await copyIn(client, statement, data);
      await client.query('commit');
      client.release();
    } catch (error) {
      // The connection may be in the middle of the data: it is not used again.
      client.release(true);
      throw error;
    }
  }

  /**
   * Runs one statement as a transaction of its own, in one round trip and prepared: for statements that are asked again and again
   * with other parameters. It never joins an open transaction.
   */
  async statement<Row>(
    scope: ProjectScope | 'system',
    statement: RawBuilder<Row>,
    { flushed = true, isList = false }: StatementOptions = {},
  ): Promise<Row[]> {
    this.#refuseForeignSessions();
    const settings = `${this.#settingsOf(scope)}; set local synchronous_commit = ${flushed ? 'on' : 'off'}`;
    const { sql, parameters } = this.#compiled(statement);
    return (isList ? this.lists.single : this.lookUps).run<Row>(settings, sql, parameters);
  }

  /** See `onOwnConnection`. */
  onOwnConnection<T>(work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
    return onOwnConnection(this.options, work);
  }

  /** True if a condition holds in all projects' rows: conditions of the same moment are one statement. */
  holds(condition: RawBuilder<unknown>): Promise<boolean> {
    return this.#asked.holds({ text: this.#compiled(condition).sql, condition });
  }

  #compiled(statement: RawBuilder<unknown>): CompiledQuery {
    this.#compiler ??= this.unscoped;
    return statement.compile(this.#compiler);
  }

  /** Notifies the listeners on `channel`, in any process, once the open transaction is committed; at once where none is open. */
  notify(channel: string, payload = ''): void {
    const notification = { channel, payload };
    const open = this.#current.getStore();
    if (open === undefined) this.#notifier.notify([notification]);
    else open.notifications.push(notification);
  }

  /** Resolves when the server answers, can write to its disk, and row-level security holds; rejects otherwise. */
  async ping(): Promise<void> {
    await checkPool(this.pool, 'mailwright_app');
    await refuseReadOnly(this.pool);
  }

  /** The same, and there is no outage that goes on. */
  async check(): Promise<void> {
    this.#refuseForeignSessions();
    await this.ping();
  }

  /** SQL outside a transaction and without a scope: row-level security shows it no rows. */
  get unscoped(): Sql {
    return this.#orm.em.fork().getKysely<unknown>();
  }

  /** Throws while a pooler gives sessions away. */
  #refuseForeignSessions(): void {
    const { error } = this.outage;
    if (error instanceof UnsafeSessionError) throw error;
  }

  async close(): Promise<void> {
    this.outage.close();
    await this.#notifier.close();
    await this.#orm.close(true);
    // The ORM ends the pool only when it has used it.
    if (!this.pool.ended) await this.pool.end();
    await Promise.all([this.lookUps.close(), this.lists.single.close(), this.#replica?.close()]);
  }

  #open(): OpenTransaction {
    const open = this.#current.getStore();
    if (open === undefined) throw new Error('No transaction is open.');
    return open;
  }

  /** The open transaction. Throws when it is of another scope. */
  #openOf(scope: ProjectScope | 'system'): OpenTransaction | undefined {
    const open = this.#current.getStore();
    if (open !== undefined && !sameScope(open.scope, scope))
      throw new Error('A transaction of another scope is open.');
    return open;
  }

  #settingsOf(scope: ProjectScope | 'system'): string {
    return `${preambleOf(scope)}${clockPreamble(this.#clock)}`;
  }

  async #run<T>(scope: ProjectScope | 'system', work: () => Promise<T>): Promise<T> {
    if (this.#openOf(scope) !== undefined) return work();
    this.#refuseForeignSessions();
    const em = this.#orm.em.fork({ clear: true, useContext: false });
    const notifications: Notification[] = [];
    const result = await transactionPreamble.run(this.#settingsOf(scope), () =>
      em.transactional((inner) => {
        const sql = inner.getTransactionContext<Sql>();
        if (sql === undefined) throw new Error('The transaction did not start.');
        return this.#current.run({ em: inner, sql, scope, notifications }, work);
      }),
    );
    this.#notifier.notify(notifications);
    return result;
  }
}

function sameScope(open: ProjectScope | 'system', wanted: ProjectScope | 'system'): boolean {
  if (open === 'system' || wanted === 'system') return open === wanted;
  return open.environmentId === wanted.environmentId;
}
