import pg from 'pg';
import type { Outage } from '../lifecycle/outage.js';
import { Connection, type DatabaseRole, type SessionOptions } from './connection.js';
import { StatementNames } from './statement.js';

/** A connection that is taken from its pool. */
export type PooledConnection = Connection & Pick<pg.PoolClient, 'release'>;

type ConnectCallback = Parameters<typeof pg.Pool.prototype.connect>[0];

export interface ConnectionPoolOptions extends pg.PoolConfig, Omit<SessionOptions, 'names' | 'settings'> {
  readonly settings?: readonly string[];
}

/** A pool whose connections have their role and settings before they are used. */
export class ConnectionPool extends pg.Pool {
  readonly #role: DatabaseRole;
  readonly #outage: Outage | undefined;

  constructor({ role, settings = [], outage, ...options }: ConnectionPoolOptions) {
    const session: SessionOptions = { role, settings, outage, names: new StatementNames() };
    class Client extends Connection {
      constructor(config?: pg.ClientConfig) {
        super(config, session);
      }
    }
    // pg waits for what it returns, which its types leave out.
    const onConnect = (client: pg.ClientBase): Promise<void> => (client as Connection).begin(session);
    const beginning = { onConnect };
    super({ ...options, ...beginning, Client });
    this.#role = role;
    this.#outage = outage;
    // An idle client whose server went away emits 'error'; the pool has dropped it already.
    this.on('error', () => undefined);
    this.on('connect', (client) => client.on('error', () => undefined));
  }

  override connect(): Promise<PooledConnection>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | void {
    if (callback === undefined)
      return super.connect().catch((error: unknown) => {
        this.#failed(error);
        throw error;
      });
    super.connect((error, client, release) => {
      if (error !== undefined) this.#failed(error);
      callback(error, client, release);
    });
  }

  /** Looks again, on one connection: see `Connection.check`. */
  async check(): Promise<void> {
    const client = await this.connect();
    try {
      await client.check(this.#role);
      client.release();
    } catch (error) {
      // Lost, or not to be trusted.
      client.release(true);
      throw error;
    }
  }

  /** Without a connection nothing can be asked, whatever the reason. */
  #failed(error: unknown): void {
    if (!this.ending) this.#outage?.noticed(error);
  }
}

export interface PoolOptions {
  readonly url: string;
  readonly poolSize: number;
  /** Shows in `pg_stat_activity`. */
  readonly applicationName: string;
  /** A statement that takes longer is cancelled. Default: none. */
  readonly statementTimeoutMs?: number | undefined;
  /** Notices when the server cannot be reached or refuses to work. */
  readonly outage?: Outage | undefined;
}

/** To get a connection, waiting for a free one included. */
const CONNECTION_TIMEOUT_MS = 15_000;

/**
 * On an SSD all pages cost the same. At PostgreSQL's 4, a table without statistics is read and sorted rather than its index
 * walked.
 */
const RANDOM_PAGES = 'random_page_cost = 1';

/**
 * Plans for any values, so that no environment is taken for an empty one: of one that is newer than the statistics the planner
 * believes that it has no rows, and any index that begins with the environment seems as good as the right one. Unknown, it is
 * taken for one of average size.
 */
const GENERIC_PLANS = 'plan_cache_mode = force_generic_plan';

/**
 * Settings for single statements and pages of lists, whose plans are kept: one made while a table has one page must not read all
 * of it when it has thousands.
 */
export const KEPT_PLANS = ['enable_seqscan = off', 'jit = off'];

const INT8_OID = 20;
const DATE_OID = 1082;

/** Pool of connections with times and dates as ISO 8601; `settings` are PostgreSQL’s, as `name = value`. */
export function poolOf(
  options: PoolOptions,
  size: number,
  settings: readonly string[] = [],
  role: DatabaseRole = 'mailwright_app',
): ConnectionPool {
  return new ConnectionPool({
    connectionString: options.url,
    outage: options.outage,
    role,
    settings: [
      "timezone = 'UTC'",
      "datestyle = 'ISO'",
      'idle_in_transaction_session_timeout = 60000',
      `statement_timeout = ${options.statementTimeoutMs ?? 0}`,
      RANDOM_PAGES,
      GENERIC_PLANS,
      ...settings,
    ],
    max: size,
    application_name: options.applicationName,
    connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
    types: { getTypeParser: typeParser },
  });
}

/** int8 as number (our ids and counts stay below 2^53), date as its ISO text, the rest as pg does. */
function typeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === INT8_OID) return Number;
  if (oid === DATE_OID) return String;
  return pg.types.getTypeParser(oid, format);
}

/**
 * Runs `work` of the system on a connection of its own, outside of a transaction, whose role would keep functions from changing
 * tables on the nodes of a cluster as their owner. When this resolves, the connection is closed and holds no lock.
 */
export async function onOwnConnection<T>(
  options: PoolOptions,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  const pool = poolOf(options, 1, [], 'mailwright_system');
  const client = await pool.connect();
  const closed = new Promise<void>((resolve) => void client.once('end', resolve));
  try {
    return await work(client);
  } finally {
    client.release(true);
    await closed;
    await pool.end();
  }
}
