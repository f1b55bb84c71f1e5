import { setTimeout as delay } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { withTimeout } from '#kernel';
import { type ConnectionPool, poolOf, type PoolOptions } from './connection-pool.js';
import { databaseFailure, sqlStateOf } from './database-failure.js';
import { named } from './statement.js';
import { Outage } from '../lifecycle/outage.js';
import { setLocal, type Settings, settingsOf } from './scope-settings.js';
import { Transaction } from './transaction.js';

/** Setting of a transaction that may not write. */
export const READ_ONLY: Settings = { transaction_read_only: 'on' };

/** Runs `read` in a transaction that is open, which may not write meanwhile. */
export async function readOnlyWithin<T>(
  open: Transaction,
  read: (open: Transaction) => Promise<T>,
): Promise<T> {
  await sql.raw(`savepoint replica_read; ${setLocal(READ_ONLY)}`).execute(open.sql);
  const value = await read(open);
  await sql.raw('release savepoint replica_read').execute(open.sql);
  return value;
}

/** Lets a transaction wait for as long as something is read elsewhere. */
export async function letIdle({ sql: open }: Transaction): Promise<void> {
  await sql.raw(setLocal({ idle_in_transaction_session_timeout: '0' })).execute(open);
}

/** The end of the primary's log, and the identity of the server. */
interface LogPosition {
  readonly lsn: string;
  readonly cluster: string;
  readonly startedAt: string;
}

/** Asked of the primary: all that was committed lies before it. */
const LOG_POSITION = sql<LogPosition>`${named('log_position')}
  select pg_current_wal_flush_lsn()::text as lsn, pg_postmaster_start_time()::text as started_at,
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

/** The reason why a replica cannot be read, by its latest error; without any it is behind. */
export function replicaFailure(error: unknown): string {
  const failure = databaseFailure(error, 'DATABASE_READ_URL');
  if (failure !== null) return failure.message;
  return error instanceof Error
    ? `The server of DATABASE_READ_URL cannot be used: ${error.message}`
    : 'The server of DATABASE_READ_URL is behind, or does not answer in time.';
}

/** A standby of the primary, for reads of what it has replayed. */
export class ReadReplica {
  /** Reads by the server that answered them. */
  readonly answered = { replica: 0, primary: 0 };
  /** Begins when it cannot be reached; one that is behind is none. */
  readonly outage = new Outage(() => this.check());
  readonly #pool: ConnectionPool;
  #restsUntil = 0;
  /** The latest error, until it can be reached again. */
  #error: unknown = null;

  constructor(
    options: PoolOptions,
    private readonly askPrimary: <Row>(statement: RawBuilder<Row>) => Promise<Row[]>,
  ) {
    this.#pool = poolOf(options, options.poolSize);
  }

  /**
   * The result of `work` in a transaction with these settings; null where the primary must be read: the replica is away or
   * behind.
   */
  async read<T>(
    settings: Settings,
    work: (transaction: Transaction) => Promise<T>,
  ): Promise<{ readonly value: T } | null> {
    const transaction = await this.#begun(settings);
    const done = transaction === null ? null : await this.#finished(transaction, work);
    this.answered[done === null ? 'primary' : 'replica'] += 1;
    return done;
  }

  /** Rejects when reads go to the primary now, with the reason in words for the operator. */
  async check(): Promise<void> {
    const transaction = await this.#begun({ ...READ_ONLY, ...settingsOf('system') });
    if (transaction === null) throw new Error(replicaFailure(this.#error), { cause: this.#error });
    await transaction.rollback();
  }

  close(): Promise<void> {
    this.outage.close();
    return this.#pool.end();
  }

  async #begun(settings: Settings): Promise<Transaction | null> {
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
  async #caughtUp(settings: Settings, signal: AbortSignal): Promise<Transaction | null> {
    const [position] = await this.askPrimary(LOG_POSITION);
    if (position === undefined) return null;
    let transaction: Transaction | undefined;
    try {
      transaction = await Transaction.begin(this.#pool, settings);
      this.#error = null;
      while (!signal.aborted) {
        const { rows } = await hasReached(position).execute(transaction.sql);
        if (rows[0]?.isThere === true && !signal.aborted) return transaction;
        await delay(LOOK_AGAIN_MS);
      }
    } catch (error) {
      this.#error = error;
      this.outage.noticed(error);
    }
    await transaction?.rollback();
    return null;
  }

  async #finished<T>(
    transaction: Transaction,
    work: (transaction: Transaction) => Promise<T>,
  ): Promise<{ readonly value: T } | null> {
    try {
      const value = await work(transaction);
      await transaction.commit([]);
      return { value };
    } catch (error) {
      await transaction.rollback();
      if (databaseFailure(error) === null && !CONFLICTS.includes(sqlStateOf(error))) throw error;
      this.#rest();
      return null;
    }
  }

  #rest(): void {
    this.#restsUntil = performance.now() + REST_MS;
  }
}
