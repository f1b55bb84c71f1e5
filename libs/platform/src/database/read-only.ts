import { CompiledQuery, type Kysely } from 'kysely';

type Transaction = Kysely<unknown>;

/** First in a transaction that may not write. */
export const READ_ONLY = 'set transaction read only';

/** Runs `read` in a transaction that is open, which may not write meanwhile. */
export async function readOnlyWithin<T>(
  open: Transaction,
  read: (open: Transaction) => Promise<T>,
): Promise<T> {
  await execute(open, `savepoint late_read; ${READ_ONLY}`);
  const value = await read(open);
  await execute(open, 'release savepoint late_read');
  return value;
}

/** Lets a transaction wait for as long as something is read elsewhere. */
export async function letIdle(open: Transaction): Promise<void> {
  await execute(open, 'set local idle_in_transaction_session_timeout = 0');
}

async function execute(open: Transaction, statements: string): Promise<void> {
  await open.executeQuery(CompiledQuery.raw(statements));
}
