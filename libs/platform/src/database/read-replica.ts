import { setTimeout as delay } from 'node:timers/promises';
import { CompiledQuery, type ControlledTransaction, Kysely, type RawBuilder, sql } from 'kysely';
import { withTimeout } from '#kernel';
import { type ConnectionPool, poolOf, type PoolOptions } from './connection-pool.js';
import { databaseFailure, sqlStateOf } from './database-failure.js';
import { named } from './statement.js';
import { ScopedPostgresDialect, setLocal, settingsOf, transactionSettings } from './scoped-dialect.js';

/** Setting of a transaction that may not write. */
export const READ_ONLY = 'transaction_read_only = on';

/** Runs `read` in a transaction that is open, which may not write meanwhile. */
export async function readOnlyWithin<T>(
  open: Kysely<unknown>,
  read: (open: Kysely<unknown>) => Promise<T>,
): Promise<T> {
  await execute(open, `savepoint replica_read; ${setLocal([READ_ONLY])}`);
  const value = await read(open);
  await execute(open, 'release savepoint replica_read');
  return value;
}

/** Lets a transaction wait for as long as something is read elsewhere. */
export async function letIdle(open: Kysely<unknown>): Promise<void> {
  await execute(open, setLocal(['idle_in_transaction_session_timeout = 0']));
}

async function execute(open: Kysely<unknown>, statements: string): Promise<void> {
  await open.executeQuery(CompiledQuery.raw(statements));
}

type Transaction = ControlledTransaction<unknown>;

/** The end of the primary's log, and the identity of the server. */
interface LogPosition {
  readonly lsn: string;
  readonly cluster: string;
  readonly startedAt: string;
}

/** Asked of the primary: all that was committed lies before it. */
const LOG_POSITION = sql<LogPosition>`${named('log_position')}
  select pg_current_wal_flush_lsn()::text as lsn, pg_postmaster_start_time()::text as "startedAt",
    (select system_identifier::text from pg_control_system()) as cluster`;

/** A server that does not follow any more must be the primary itself. */
const hasReached = ({ lsn, cluster, startedAt }: LogPosition) => sql<{ readonly isThere: boolean | null }>`
  select system_identifier::text = ${cluster} and case
      when pg_is_in_recovery() then pg_last_wal_replay_lsn() >= ${lsn}::pg_lsn
      else pg_postmaster_start_time()::text = ${startedAt}
    end as "isThere"
  from pg_control_system()`;

/** Time for the replica to answer and to catch up. */
const PATIENCE_MS = 200;
/** Rest of a replica that could not be reached or was behind. */
const REST_MS = 1_000;
const LOOK_AGAIN_MS = 5;

/** A standby cancels a query or session whose rows it must remove (PostgreSQL, “Handling Query Conflicts”). */
const CONFLICTS: readonly (string | null)[] = ['40001', '40P01', '57P04'];

/** A standby of the primary, for reads of what it has replayed. */
export class ReadReplica {
  /** Reads by the server that answered them. */
  readonly answered = { replica: 0, primary: 0 };
  readonly #pool: ConnectionPool;
  readonly #sql: Kysely<unknown>;
  #restsUntil = 0;

  constructor(
    options: PoolOptions,
    private readonly askPrimary: <Row>(statement: RawBuilder<Row>) => Promise<Row[]>,
  ) {
    this.#pool = poolOf(options, options.poolSize);
    this.#sql = new Kysely({ dialect: new ScopedPostgresDialect(this.#pool) });
  }

  /**
   * The result of `work` in a transaction with these settings; null where the primary must be read: the replica is away or
   * behind.
   */
  async read<T>(
    settings: readonly string[],
    work: (transaction: Transaction) => Promise<T>,
  ): Promise<{ readonly value: T } | null> {
    const transaction = await this.#begun(settings);
    const done = transaction === null ? null : await this.#finished(transaction, work);
    this.answered[done === null ? 'primary' : 'replica'] += 1;
    return done;
  }

  /** Rejects when reads go to the primary now. */
  async check(): Promise<void> {
    const transaction = await this.#begun([READ_ONLY, ...settingsOf('system')]);
    if (transaction === null) throw new Error('The read replica is away or behind.');
    await transaction.rollback().execute();
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  async #begun(settings: readonly string[]): Promise<Transaction | null> {
    if (performance.now() < this.#restsUntil) return null;
    const patience = new AbortController();
    const begun = this.#caughtUp(settings, patience.signal).catch(() => null);
    const transaction = await withTimeout(begun, PATIENCE_MS, () => {
      patience.abort();
      return null;
    });
    if (transaction === null) this.#rest();
    return transaction;
  }

  /** Asks in the transaction of the read, since the URL may lead to several replicas. */
  async #caughtUp(settings: readonly string[], signal: AbortSignal): Promise<Transaction | null> {
    const [position] = await this.askPrimary(LOG_POSITION);
    if (position === undefined) return null;
    const transaction = await transactionSettings.run(settings, () => this.#sql.startTransaction().execute());
    try {
      while (!signal.aborted) {
        const { rows } = await hasReached(position).execute(transaction);
        if (rows[0]?.isThere === true && !signal.aborted) return transaction;
        await delay(LOOK_AGAIN_MS);
      }
    } catch {
      // Lost.
    }
    await transaction.rollback().execute();
    return null;
  }

  async #finished<T>(
    transaction: Transaction,
    work: (transaction: Transaction) => Promise<T>,
  ): Promise<{ readonly value: T } | null> {
    try {
      const value = await work(transaction);
      await transaction.commit().execute();
      return { value };
    } catch (error) {
      await transaction.rollback().execute();
      if (databaseFailure(error) === null && !CONFLICTS.includes(sqlStateOf(error))) throw error;
      this.#rest();
      return null;
    }
  }

  #rest(): void {
    this.#restsUntil = performance.now() + REST_MS;
  }
}
