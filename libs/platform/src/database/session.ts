import pg from 'pg';

/** What the programs work as; row-level security shows each its rows (docs/internals/database.md#row-level-security). */
export type DatabaseRole = 'mailwright_app' | 'mailwright_system';

/** A connection on which row-level security would not hold. Nothing is asked on it. */
export class UnsafeSessionError extends Error {}

interface Session {
  readonly user: string;
  readonly is_secured: boolean;
  readonly is_distributed: boolean;
  readonly pid: number;
}

/** The role and what row-level security says of itself; its tables are missing before the first migration. */
const SESSION = `select current_user as "user", pg_backend_pid() as pid, current_setting('row_security') = 'on'
  and row_security_active(to_regclass('platform.outbox')) is not false as is_secured,
  exists (select 1 from pg_extension where extname = 'citus') as is_distributed`;

/** Citus finds the node of a statement when it plans it for its values. */
const CUSTOM_PLANS = 'set plan_cache_mode = force_custom_plan';

const serverProcesses = new WeakMap<pg.ClientBase, number>();
const toCitus = new WeakSet<pg.ClientBase>();

/** A pool whose connections have `role` and `settings` (`name = value`) before anybody gets them. */
export function sessionPool(
  options: pg.PoolConfig,
  role: DatabaseRole,
  settings: readonly string[] = [],
): pg.Pool {
  // pg waits for what it returns, which its types leave out.
  const session = { onConnect: (client: pg.ClientBase) => beginSession(client, role, settings) };
  return new pg.Pool({ ...options, ...session });
}

/**
 * The first message of a new connection: takes the role and sets `settings`, and looks whether it was done. Not by options of the connection's start, which poolers drop. Throws `UnsafeSessionError`.
 */
async function beginSession(
  client: pg.ClientBase,
  role: DatabaseRole,
  settings: readonly string[],
): Promise<void> {
  const sets = [`role ${role}`, 'row_security = on', ...settings].map((setting) => `set ${setting}`);
  // Several statements in one message have several results, of which the types know nothing.
  const results: unknown = await client.query([...sets, SESSION].join('; '));
  const session = (results as pg.QueryResult<Session>[]).at(-1)?.rows[0];
  refuseUnsafe(session, role);
  serverProcesses.set(client, session.pid);
  if (!session.is_distributed) return;
  toCitus.add(client);
  await client.query(CUSTOM_PLANS);
}

/** Whether it leads to the coordinator of a Citus cluster. */
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
  const begun = serverProcesses.get(client);
  if (begun !== undefined && begun !== rows[0]?.pid)
    throw new UnsafeSessionError(
      'The session was given to another server process: a pooler is in transaction mode.',
    );
}

/** Whether something stands between: PostgreSQL itself names the process that answers when a connection begins. */
export function isPooled(client: pg.ClientBase): boolean {
  const { processID } = client as { readonly processID?: number };
  return processID !== serverProcesses.get(client);
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
