import pg from 'pg';
import type { Outage } from '../lifecycle/outage.js';
import { nameEnvironments } from './planner.js';
import { keepPrepared } from './prepared.js';
import { type DatabaseRole, isDistributed, sessionPool } from './session.js';

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
 * Settings for single statements and pages of lists: plans for any values, so that no environment is taken for an empty one. A
 * plan made while a table has one page must not read all of it when it has thousands.
 */
export const GENERIC_PLANS = ['plan_cache_mode = force_generic_plan', 'enable_seqscan = off', 'jit = off'];

const INT8_OID = 20;
const DATE_OID = 1082;

/** Pool of connections with times and dates as ISO 8601; `settings` are PostgreSQL’s, as `name = value`. */
export function poolOf(
  options: PoolOptions,
  size: number,
  settings: readonly string[] = [],
  role: DatabaseRole = 'mailwright_app',
): pg.Pool {
  const all = [
    "timezone = 'UTC'",
    "datestyle = 'ISO'",
    'idle_in_transaction_session_timeout = 60000',
    `statement_timeout = ${options.statementTimeoutMs ?? 0}`,
    RANDOM_PAGES,
    ...settings,
  ];
  const pool = sessionPool(
    {
      connectionString: options.url,
      outage: options.outage,
      max: size,
      application_name: options.applicationName,
      connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
      types: { getTypeParser: typeParser },
    },
    role,
    all,
  );
  // An idle client whose server went away emits 'error'; the pool has dropped it already.
  pool.on('error', () => undefined);
  const names = new Map<string, string>();
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    keepPrepared(client, names);
    if (isDistributed(client)) nameEnvironments(client);
  });
  return pool;
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
