import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type EntityManager,
  type EntitySchema,
  type EntitySchemaWithMeta,
  type InferKyselyTable,
  MikroORM,
} from '@mikro-orm/postgresql';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import type { Clock, ProjectScope } from '#kernel';
import { AuditTrail, SettingsAudit } from './audit-trail.js';
import { Outage } from '../lifecycle/outage.js';
import { type Notification, type NotificationTransport, Notifier } from '../notifications.js';
import { postgresTransport } from '../postgres-notifications.js';
import { AskedTogether } from './asked-together.js';
import {
  type ConnectionPool,
  KEPT_PLANS,
  onOwnConnection,
  poolOf,
  type PoolOptions,
} from './connection-pool.js';
import { Connection, UnsafeSessionError } from './connection.js';
import { copyIn } from './copy.js';
import { refuseReadOnly, refuseTransactionPooling } from './fit-database.js';
import { letIdle, READ_ONLY, readOnlyWithin, ReadReplica } from './read-replica.js';
import { setForGood, setLocal, type Settings, settingsOf, type Sight } from './scope-settings.js';
import { askedOf } from './statement-compiler.js';
import {
  camelCaseRows,
  offline,
  OfflineDialect,
  type RowsOf,
  type Statements,
  Transaction,
} from './transaction.js';
import type { Statement } from './statement.js';
import { currentTraceparent, tracedWithin, type Work } from '../tracing.js';

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

export interface DatabaseOptions extends PoolOptions {
  readonly entities: readonly EntitySchema[];
  /** A test's clock, which `platform.now()` then tells, too. Default: the server's own. */
  readonly clock?: Clock | undefined;
  /** Default: NOTIFY. */
  readonly notificationTransport?: NotificationTransport | undefined;
  /** URL of a standby, for reads `onReplica`. */
  readonly readUrl?: string | undefined;
}

interface OpenTransaction {
  readonly scope: ProjectScope | 'system';
  readonly transaction: Transaction;
  readonly isRead: boolean;
  /** To be sent once it is committed. */
  readonly notifications: Notification[];
  /** Once it is asked for. */
  em?: EntityManager;
}

export interface ReadOptions {
  /** Uses connections apart, planned for any values: a page far down a list may take as long as hundreds of look-ups. */
  readonly isList?: boolean;
  /** Asks the read replica when that has all that was committed before, else the primary. */
  readonly onReplica?: boolean;
}

/** Options of `Database.statement`. */
export interface StatementOptions {
  /** See `ReadOptions`. */
  readonly isList?: boolean;
  /** False: resolves before the write outlasts a crash of the server, which is certain with the next flushed transaction. */
  readonly flushed?: boolean;
}

/** Plans of cursors that are read to their end, with memory for what is sorted or hashed. */
const WHOLE: Settings = {
  cursor_tuple_fraction: '1',
  plan_cache_mode: 'force_custom_plan',
  work_mem: '64MB',
};

const databaseWork = (name: string): Work => ({
  name,
  kind: 'client',
  attributes: { 'db.system.name': 'postgresql' },
});

const LOOK_UP_CONNECTIONS = 2;
const LIST_CONNECTIONS = 4;

/**
 * The ways to PostgreSQL: the unit of work (`em`) of a transaction for aggregates; typed SQL (`tables`) in a transaction or a
 * `read`; and whole statements, each a transaction of its own (`statement`, `copy`). All see the rows of one project environment,
 * by row-level security, or, for work across projects, those of the `system`.
 *
 * A call inside an open transaction of the same scope joins it; of another scope it throws. SQL does not see what the unit of
 * work has not written yet: flush before it reads.
 */
export class Database {
  readonly #orm: MikroORM;
  readonly #clock: Clock | undefined;
  readonly #notifier: Notifier;
  readonly #current = new AsyncLocalStorage<OpenTransaction>();
  readonly #replica: ReadReplica | undefined;
  readonly #asked = new AskedTogether((statement) => this.statement('system', statement));

  private constructor(
    orm: MikroORM,
    readonly pool: ConnectionPool,
    private readonly lookUps: ConnectionPool,
    private readonly lists: ConnectionPool,
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
      await Connection.cutAll();
      await database.ping();
    });
    const options = { ...given, outage };
    const pool = poolOf(options, options.poolSize);
    const orm = await MikroORM.init({
      entities: [...options.entities],
      dbName: 'mailwright',
      // A unit of work is on the connection of its transaction.
      driverOptions: () => new OfflineDialect(),
      discovery: { warnWhenNoEntities: false },
      ensureDatabase: false,
      allowGlobalContext: false,
      subscribers: [new SettingsAudit()],
    });
    const lookUps = poolOf(options, LOOK_UP_CONNECTIONS, KEPT_PLANS);
    const lists = poolOf(options, LIST_CONNECTIONS, KEPT_PLANS);
    const database = new Database(orm, pool, lookUps, lists, options, outage);
    return database;
  }

  /** Runs `work` in one transaction that sees only the rows of `scope`; commits when it resolves. */
  transaction<T>(scope: ProjectScope, work: () => Promise<T>): Promise<T> {
    return this.#run(scope, work);
  }

  /**
   * Runs `work`, which only reads, by `tables`. One on the replica may be run twice; within an open transaction it may see what
   * that one has written, or not.
   */
  async read<T>(
    scope: ProjectScope,
    { isList = false, onReplica = false }: ReadOptions,
    work: () => Promise<T>,
  ): Promise<T> {
    const open = this.#openOf(scope);
    if (open !== undefined && (open.isRead || !onReplica)) return work();
    this.#refuseForeignSessions();
    const settings = { ...READ_ONLY, ...this.#settingsOf(scope) };
    const read = (transaction: Transaction): Promise<T> =>
      this.#current.run({ scope, transaction, isRead: true, notifications: [] }, work);
    if (onReplica && this.#replica !== undefined) {
      if (open !== undefined) await letIdle(open.transaction);
      const answer = await this.#replica.read(settings, read);
      if (answer !== null) return answer.value;
    }
    if (open !== undefined) return readOnlyWithin(open.transaction, read);
    return tracedWithin(databaseWork('read'), async (span) => {
      const transaction = await Transaction.begin(isList ? this.lists : this.pool, settings, span);
      try {
        const value = await read(transaction);
        await transaction.commit([]);
        return value;
      } finally {
        await transaction.rollback();
      }
    });
  }

  /** The replica that answers reads `onReplica`, where there is one. */
  get replica(): Pick<ReadReplica, 'answered' | 'check' | 'outage'> | undefined {
    return this.#replica;
  }

  /** Runs `work` in one transaction that sees all projects' rows. For workers and operators only. */
  system<T>(work: () => Promise<T>): Promise<T> {
    return this.#run('system', work);
  }

  /** The unit of work of the open transaction. Throws outside of one. */
  get em(): EntityManager {
    const open = this.#open();
    if (open.isRead) throw new Error('A read has no unit of work.');
    open.em ??= this.#unitOfWork(open.transaction);
    return open.em;
  }

  /** SQL of the open transaction, on the tables of one or several contexts (`Tables`). Throws outside of a transaction. */
  tables<DB>(): Kysely<DB> {
    return this.#open().transaction.tables as Kysely<DB>;
  }

  /** Asks statements of the open transaction in one message, one after the other: none behind one that fails. */
  together<Rows extends readonly unknown[]>(...statements: Statements<Rows>): Promise<RowsOf<Rows>> {
    return this.#open().transaction.together(statements);
  }

  /**
   * The rows of one statement, `size` at a time by a cursor: all of the moment at which it began, however long it takes and whatever
   * is written meanwhile. Its transaction is its own, so what is done between two pages is in none or in another.
   */
  async *snapshot<Row>(scope: ProjectScope, statement: RawBuilder<Row>, size: number): AsyncGenerator<Row[]> {
    this.#refuseForeignSessions();
    const settings = { ...READ_ONLY, ...WHOLE, ...this.#settingsOf(scope) };
    const transaction = await Transaction.begin(this.pool, settings);
    try {
      const { tables } = transaction;
      await sql`declare snapshot no scroll cursor for ${statement}`.execute(tables);
      const page = sql<Row>`fetch forward ${sql.lit(size)} from snapshot`;
      for (let last = size; last === size;) {
        const { rows } = await page.execute(tables);
        if (rows.length > 0) yield rows;
        last = rows.length;
      }
      await transaction.commit([]);
    } finally {
      await transaction.rollback();
    }
  }

  /**
   * One statement as a transaction of its own, in one message. Not for what a client may repeat: it is committed though the
   * program dies while it waits for a lock.
   */
  async write<Row>(scope: ProjectScope, statement: RawBuilder<Row>): Promise<readonly Row[]> {
    this.#refuseForeignSessions();
    const settings = this.#settingsOfChange(scope);
    return tracedWithin(databaseWork('write'), async (span) => {
      const transaction = await Transaction.begin(this.pool, settings, span);
      try {
        return (await transaction.commit([statement]))[0];
      } finally {
        await transaction.rollback();
      }
    });
  }

  /**
   * Runs one `COPY … FROM STDIN` with `data` in a transaction of its own, into a table without row-level security. It need
   * not be durable where a later commit says that the data is there.
   */
  async copy(
    scope: ProjectScope,
    statement: string,
    data: Buffer,
    { isDurable = true }: { readonly isDurable?: boolean } = {},
  ): Promise<void> {
    const client = await this.pool.connect();
    try {
      await client.query(`begin; ${setLocal({ ...this.#settingsOf(scope), ...flushing(isDurable) })}`);
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
   * Runs one statement as a transaction of its own, prepared: for statements that are asked again and again with other parameters.
   * It takes one round trip where the connection has asked of the same scope before. It never joins an open transaction.
   */
  async statement<Row>(
    sight: Sight,
    statement: RawBuilder<Row>,
    { flushed = true, isList = false }: StatementOptions = {},
  ): Promise<Row[]> {
    this.#refuseForeignSessions();
    const settings = { ...this.#settingsOf(sight), ...flushing(flushed) };
    const compiled = this.compile(statement);
    const name = compiled.name ?? 'statement';
    return tracedWithin(databaseWork(name), async () => {
      const client = await (isList ? this.lists : this.lookUps).connect();
      try {
        // Nodes of Citus are told the settings of a transaction only.
        if (client.isDistributed) await client.query(`begin; ${setLocal(settings)}`);
        else await client.keepSettings(setForGood(settings));
        const result = await client.query<Row & object>(askedOf({ ...compiled, name }));
        if (client.isDistributed) await client.query('commit');
        client.release();
        return (await camelCaseRows(result)) as Row[];
      } catch (error) {
        // Lost, or half set.
        client.release(true);
        throw error;
      }
    });
  }

  /** The text and parameters of a template, as they are sent. */
  compile<Row>(statement: RawBuilder<Row>): Statement<Row> {
    return statement.compile(offline);
  }

  /** See `onOwnConnection`. */
  onOwnConnection<T>(work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
    return onOwnConnection(this.options, work);
  }

  /** True if a condition holds in all projects' rows: conditions of the same moment are one statement. */
  holds(condition: RawBuilder<unknown>): Promise<boolean> {
    return this.#asked.holds({ text: this.compile(condition).sql, condition });
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
    await this.pool.check();
    await refuseReadOnly(this.pool);
  }

  /** The same, and there is no outage that goes on. */
  async check(): Promise<void> {
    this.#refuseForeignSessions();
    await this.ping();
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
    const pools = [this.pool, this.lookUps, this.lists];
    await Promise.all([...pools.map((pool) => pool.end()), this.#replica?.close()]);
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

  #settingsOf(sight: Sight): Settings {
    return settingsOf(sight, this.#clock);
  }

  /** With the trace that the change is a part of, which jobs, mails and events written in it carry on. */
  #settingsOfChange(scope: ProjectScope | 'system'): Settings {
    const traceparent = currentTraceparent();
    const settings = this.#settingsOf(scope);
    return traceparent === null ? settings : { ...settings, 'mailwright.traceparent': traceparent };
  }

  #unitOfWork({ sql: statements }: Transaction): EntityManager {
    const em = this.#orm.em.fork({ clear: true, useContext: false });
    em.setTransactionContext(statements);
    return em;
  }

  async #run<T>(scope: ProjectScope | 'system', work: () => Promise<T>): Promise<T> {
    const open = this.#openOf(scope);
    if (open !== undefined) return work();
    this.#refuseForeignSessions();
    const settings = this.#settingsOfChange(scope);
    return tracedWithin(databaseWork('transaction'), async (span) =>
      this.#change(scope, await Transaction.begin(this.pool, settings, span), work),
    );
  }

  async #change<T>(
    scope: ProjectScope | 'system',
    transaction: Transaction,
    work: () => Promise<T>,
  ): Promise<T> {
    const own: OpenTransaction = { scope, transaction, isRead: false, notifications: [] };
    const trail = trailOf(scope);
    if (trail !== undefined) transaction.watchWrites();
    let result: T;
    try {
      result = await this.#current.run(own, work);
      await own.em?.flush();
      const isAudited = trail?.isWanted === true && transaction.hasWritten;
      await (isAudited ? transaction.commit([trail.ofChange(result)]) : transaction.commit([]));
      if (isAudited) trail.written();
    } catch (error) {
      trail?.forgetChanges();
      throw error;
    } finally {
      await transaction.rollback();
    }
    this.#notifier.notify(own.notifications);
    return result;
  }
}

/** The trail that waits for a change, if this can be its transaction. */
function trailOf(scope: ProjectScope | 'system'): AuditTrail | undefined {
  const trail = AuditTrail.current;
  if (trail?.isWanted !== true) return undefined;
  return scope === 'system' || scope.environmentId === trail.environmentId ? trail : undefined;
}

const flushing = (isFlushed: boolean): Settings => ({ synchronous_commit: isFlushed ? 'on' : 'off' });

function sameScope(open: ProjectScope | 'system', wanted: ProjectScope | 'system'): boolean {
  if (open === 'system' || wanted === 'system') return open === wanted;
  return open.environmentId === wanted.environmentId;
}
