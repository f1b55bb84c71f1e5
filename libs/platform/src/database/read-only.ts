import { CompiledQuery, type Kysely } from 'kysely';
import type pg from 'pg';

type Transaction = Kysely<unknown>;

/** First in a transaction that may not write. */
export const READ_ONLY = 'set transaction read only';

/** Runs `read` in a transaction that is open, which may not write meanwhile. */
export async function readOnlyWithin<T>(
  open: Transaction,
  read: (open: Transaction) => Promise<T>,
): Promise<T> {
  await execute(open, `savepoint replica_read; ${READ_ONLY}`);
  const value = await read(open);
  await execute(open, 'release savepoint replica_read');
  return value;
}

/** Lets a transaction wait for as long as something is read elsewhere. */
export async function letIdle(open: Transaction): Promise<void> {
  await execute(open, 'set local idle_in_transaction_session_timeout = 0');
}

async function execute(open: Transaction, statements: string): Promise<void> {
  await open.executeQuery(CompiledQuery.raw(statements));
}

/** Small enough for the rows below to leave it for the disk. */
const WORK_MEM = '64kB';
const ROWS = 20_000;

/**
 * Rejects when the server takes no writes, or has no room for them. A temporary file is a write that costs no transaction and
 * leaves nothing behind; a row that is rolled back would leave itself.
 */
export async function refuseReadOnly(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(`begin; set local work_mem = '${WORK_MEM}'`);
    const { rows } = await client.query<{ mode: string }>(
      `select current_setting('transaction_read_only') as mode, count(*) from generate_series(1, ${ROWS})`,
    );
    await client.query('commit');
    if (rows[0]?.mode !== 'off') throw new ReadOnlyError('PostgreSQL can only be read.');
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}

class ReadOnlyError extends Error {
  readonly code = '25006';
}
