import type pg from 'pg';
import { isPooled, UnsafeSessionError } from './session.js';
import { UnfitDatabaseError } from './unfit-database.error.js';

/** A pooler that gives a connection to somebody else after each transaction. */
export class TransactionPoolingError extends UnfitDatabaseError {
  constructor() {
    super(
      'DATABASE_URL leads to a connection pooler in transaction mode. Mailwright needs sessions, for LISTEN and for ' +
        'statements that are planned once: set the pooler to session mode (PgBouncer: pool_mode = session), or connect ' +
        'to PostgreSQL itself (docs/database.md#poolers).',
    );
  }
}

/** More than one, since other clients of the pooler may take the connection that is looked for. */
const ATTEMPTS = 20;

/**
 * Throws a `TransactionPoolingError` when a connection is given away while its client is still there: to a second client,
 * which holds it in a transaction, or in exchange for another. Asks nothing more of PostgreSQL itself.
 */
export async function refuseTransactionPooling(pool: pg.Pool): Promise<void> {
  const first = await pool.connect();
  try {
    if (!isPooled(first)) return;
    const second = await pool.connect();
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        if (await isGivenAway(first, second)) throw new TransactionPoolingError();
      }
    } catch (error) {
      throw error instanceof UnsafeSessionError ? new TransactionPoolingError() : error;
    } finally {
      second.release();
    }
  } finally {
    first.release();
  }
}

async function isGivenAway(first: pg.ClientBase, second: pg.ClientBase): Promise<boolean> {
  const own = await processOf(first);
  // Two in turn would come back to the first client after the second has had its own.
  if ((await processOf(first)) !== own) return true;
  await second.query('begin');
  try {
    // In this order: where there is one connection only, the second client holds it, and the first would wait for it.
    if ((await processOf(second)) === own) return true;
    return (await processOf(first)) !== own;
  } finally {
    await second.query('rollback').catch(() => undefined);
  }
}

async function processOf(client: pg.ClientBase): Promise<number | undefined> {
  return (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
}
