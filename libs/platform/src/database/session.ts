import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { callbackify } from 'node:util';
import pg from 'pg';
import type { Outage } from '../lifecycle/outage.js';
import { isServerOutage, NO_CONNECTION, sqlStateOf } from './database-failure.js';

/** Role of the programs; row-level security shows each its rows (docs/internals/database.md#row-level-security). */
export type DatabaseRole = 'mailwright_app' | 'mailwright_system';

/** A connection on which row-level security would not hold. Nothing is asked on it. */
export class UnsafeSessionError extends Error {}

interface Session {
  readonly user: string;
  readonly is_secured: boolean;
  readonly is_distributed: boolean;
  readonly pid: number;
  readonly token: string | null;
}

/** Name of the session itself: a pooler in transaction mode leads to another one. */
const TOKEN = `current_setting('mailwright.session', true) as token`;

/** Role, and state of row-level security; its tables are missing before the first migration. */
const SESSION = `select current_user as "user", pg_backend_pid() as pid, ${TOKEN}, current_setting('row_security') = 'on'
  and row_security_active(to_regclass('platform.jobs')) is not false as is_secured,
  exists (select 1 from pg_extension where extname = 'citus') as is_distributed`;

/** Citus finds the node of a statement when it plans it for its values. */
const CUSTOM_PLANS = 'set plan_cache_mode = force_custom_plan';

const sessions = new WeakMap<pg.ClientBase, Pick<Session, 'pid' | 'token'>>();
const toCitus = new WeakSet<pg.ClientBase>();

export interface SessionPoolOptions extends pg.PoolConfig {
  /** Notices when the server cannot be reached or refuses to work. */
  readonly outage?: Outage | undefined;
}

/** A pool whose connections have `role` and `settings` (`name = value`) before they are used. */
export function sessionPool(
  { outage, ...options }: SessionPoolOptions,
  role: DatabaseRole,
  settings: readonly string[] = [],
): pg.Pool {
  class Client extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super(config);
      watch(this, outage);
    }
  }
  // pg waits for what it returns, which its types leave out.
  const onConnect = async (client: pg.ClientBase): Promise<void> => {
    try {
      await beginSession(client, role, settings);
    } catch (error) {
      if (error instanceof UnsafeSessionError) outage?.noticed(error);
      throw error;
    }
  };
  const session = { onConnect };
  const pool = new pg.Pool({ ...options, ...session, Client });
  const connect = pool.connect.bind(pool) as Call;
  const isLate = (error: unknown) => error instanceof Error && NO_CONNECTION.test(error.message);
  return Object.assign(pool, {
    connect: (...parameters: unknown[]) =>
      noticing(connect, parameters, (error) => {
        if (isLate(error)) outage?.noticed(error);
        return error;
      }),
  });
}

type Call = (...parameters: unknown[]) => unknown;
type Callback = (error: unknown, ...results: unknown[]) => void;

const open = new Set<pg.Client>();

/** Has `cutSessions` end the connection as well. */
export function keepSession(client: pg.Client): void {
  open.add(client);
  client.once('end', () => open.delete(client));
}

/**
 * Cuts every connection of the process, for new ones in their place: after a pooler gave sessions away, their state is unknown,
 * and a listening one is deaf. Resolves when no pool takes one of them for usable.
 */
export async function cutSessions(): Promise<void> {
  await Promise.all(
    [...open].map((client) => {
      const { connection } = client as pg.Client & { readonly connection: { readonly stream: Socket } };
      const ended = new Promise<void>((resolve) => void client.once('end', resolve));
      connection.stream.destroy();
      return ended;
    }),
  );
}

/** Has `outage` notice failures, and keeps statements out of a session of somebody else. */
function watch(client: pg.Client, outage: Outage | undefined): void {
  const connect = client.connect.bind(client) as Call;
  const query = client.query.bind(client) as Call;
  const told = (cause: unknown, isConnecting: boolean): unknown => {
    const isForeign = isPooled(client) && FOREIGN_STATEMENT.has(sqlStateOf(cause) ?? '');
    const error = isForeign ? new UnsafeSessionError(POOLED, { cause }) : cause;
    if (isConnecting || error instanceof UnsafeSessionError || isServerOutage(error)) outage?.noticed(error);
    return error;
  };
  keepSession(client);
  Object.assign(client, {
    connect: (...parameters: unknown[]) => noticing(connect, parameters, (error) => told(error, true)),
    query: (...parameters: unknown[]) => {
      const ask = isAskedWithin(client, parameters[0]) ? query : securely(client, query);
      return noticing(ask, parameters, (error) => told(error, false));
    },
  });
}

/** A statement that another session prepared by the same name, or one that this session prepared elsewhere. */
const FOREIGN_STATEMENT: ReadonlySet<string> = new Set(['42P05', '26000']);

/** Calls a function of a promise or a callback, and fails with the error that `tell` makes of its own. */
function noticing(call: Call, parameters: readonly unknown[], tell: (error: unknown) => unknown): unknown {
  const callback = parameters.at(-1);
  if (typeof callback === 'function') {
    const telling: Callback = (error, ...results) =>
      (callback as Callback)(error == null ? error : tell(error), ...results);
    return call(...parameters.slice(0, -1), telling);
  }
  const result = call(...parameters);
  if (!(result instanceof Promise)) return result;
  return result.catch((error: unknown) => {
    throw tell(error);
  });
}

/** True in a session that cannot change: without a pooler, at its beginning, and in a transaction. */
function isAskedWithin(client: pg.Client, query: unknown): boolean {
  const isStream = typeof query === 'object' && query !== null && 'submit' in query;
  return !isPooled(client) || isStream || client.getTransactionStatus() !== 'I';
}

const BEGIN = /^begin\b/i;

/**
 * Asks in a transaction that begins with a look at the session. Between transactions a pooler may be switched to transaction
 * mode, and lead to the role, the settings and the prepared statements of somebody else.
 */
function securely(client: pg.Client, query: Call): Call {
  const begin = async (statement: string): Promise<unknown> => {
    const results = (await query(`${statement}; select ${TOKEN}`)) as pg.QueryResult<Session>[];
    if (results.at(-1)?.rows[0]?.token === sessions.get(client)?.token) return results;
    // Its pool replaces it.
    void client.end().catch(() => undefined);
    throw new UnsafeSessionError(POOLED);
  };
  const ask = async (parameters: readonly unknown[]): Promise<unknown> => {
    const [statement] = parameters;
    if (typeof statement === 'string' && BEGIN.test(statement)) return begin(statement);
    await begin('begin');
    try {
      const result = await query(...parameters);
      await query('commit');
      return result;
    } catch (error) {
      await (query('rollback') as Promise<unknown>).catch(() => undefined);
      throw error;
    }
  };
  return (...parameters) => {
    const callback = parameters.at(-1);
    if (typeof callback !== 'function') return ask(parameters);
    return callbackify(ask)(parameters.slice(0, -1), callback as Callback);
  };
}

const POOLED = 'The session was given to another server process: a pooler is in transaction mode.';

/**
 * Sends the first message of a new connection, which takes the role and `settings`, and checks it. Options of the connection's
 * start would be dropped by poolers. Throws `UnsafeSessionError`.
 */
async function beginSession(
  client: pg.ClientBase,
  role: DatabaseRole,
  settings: readonly string[],
): Promise<void> {
  const token = randomUUID();
  const sets = [`role ${role}`, 'row_security = on', `mailwright.session = '${token}'`, ...settings].map(
    (setting) => `set ${setting}`,
  );
  // Several statements in one message have several results, of which the types know nothing.
  const results: unknown = await client.query([...sets, SESSION].join('; '));
  const session = (results as pg.QueryResult<Session>[]).at(-1)?.rows[0];
  refuseUnsafe(session, role);
  sessions.set(client, { pid: session.pid, token });
  if (!session.is_distributed) return;
  toCitus.add(client);
  await client.query(CUSTOM_PLANS);
}

/** True for a connection to the coordinator of a Citus cluster. */
export const isDistributed = (client: pg.ClientBase): boolean => toCitus.has(client);

/** Looks again, on one connection: throws `UnsafeSessionError` where the role is lost, or a pooler gives sessions away. */
export async function checkPool(pool: pg.Pool, role: DatabaseRole): Promise<void> {
  const client = await pool.connect();
  try {
    await checkSession(client, role);
    client.release();
  } catch (error) {
    // Lost, or not to be trusted.
    client.release(true);
    throw error;
  }
}

async function checkSession(client: pg.ClientBase, role: DatabaseRole): Promise<void> {
  const { rows } = await client.query<Session>(SESSION);
  refuseUnsafe(rows[0], role);
  if (sessions.get(client)?.token !== rows[0]?.token) throw new UnsafeSessionError(POOLED);
}

/** True behind a pooler: PostgreSQL itself names the process that answers when a connection begins. */
export function isPooled(client: pg.ClientBase): boolean {
  const { processID } = client as { readonly processID?: number };
  const session = sessions.get(client);
  return session !== undefined && processID !== session.pid;
}

function refuseUnsafe(session: Session | undefined, role: DatabaseRole): asserts session is Session {
  if (session?.user !== role)
    throw new UnsafeSessionError(
      `Statements would run as ${session?.user ?? 'nobody'} instead of ${role}, which row-level security is made for.`,
    );
  if (!session.is_secured)
    throw new UnsafeSessionError(
      `Row-level security does not hold for ${role}: may it pass it (BYPASSRLS), or own tables?`,
    );
}
