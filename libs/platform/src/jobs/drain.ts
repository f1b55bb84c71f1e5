import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.js';
import { drainEnvironments } from '../database/environments-due.js';
import { plannedForValues } from '../database/planner.js';

/** Takes batches of `size` until one is not full: what comes meanwhile is taken with it, or the next time. */
export async function drain(size: number, takeBatch: () => Promise<number>): Promise<void> {
  while ((await takeBatch()) >= size);
}

/**
 * Does `work` for each item. One that fails does not keep the others: all failures are thrown together at the end, as so many
 * `faults` (`subscriptions were not cancelled`).
 */
export async function forEachApart<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  work: (item: Item) => Promise<unknown>,
  faults: string,
): Promise<void> {
  const failures: unknown[] = [];
  for await (const item of items) {
    try {
      await work(item);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} ${faults}`);
}

/** Rows that nobody needs any more. */
export interface OldRows {
  /** Qualified name. */
  readonly table: string;
  readonly where: RawBuilder<unknown>;
  /** Its rows are of no environment. */
  readonly isOfInstallation?: boolean;
}

const BATCH = 10_000;

/**
 * Removes old rows of all projects in the order of `rows`, a batch a transaction: no lock is held long, and a worker that dies
 * loses one batch.
 */
export async function removeOldRows(database: Database, ...rows: readonly OldRows[]): Promise<void> {
  for (const { table, where, isOfInstallation = false } of rows)
    if (isOfInstallation)
      await drain(BATCH, () => database.system(() => remove(database, { table, where }, BATCH)));
    else
      await drainEnvironments(
        database,
        { rows: sql`${sql.table(table)} where ${where}`, batch: BATCH },
        (id, most) => remove(database, { table, where: sql`environment_id = ${id} and ${where}` }, most),
      );
}

async function remove(database: Database, { table, where }: OldRows, most: number): Promise<number> {
  // The condition stands outside too: a row that was changed meanwhile is looked at again.
  const removal = sql`
    delete from ${sql.table(table)}
    where ctid = any(array(select ctid from ${sql.table(table)} where ${where} limit ${most})) and ${where}
  `;
  const { numAffectedRows = 0n } = await plannedForValues(database, {}, () =>
    removal.execute(database.tables()),
  );
  return Number(numAffectedRows);
}

/** So long before a time. */
export function before(time: Date, milliseconds: number): Date {
  return new Date(time.getTime() - milliseconds);
}
