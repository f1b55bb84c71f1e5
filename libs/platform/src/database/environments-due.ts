import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.js';
import { plannedForValues } from './planner.js';

/** Work that waits in rows of any project. */
export interface WorkOfEnvironments {
  /** FROM and WHERE of the waiting rows. */
  readonly rows: RawBuilder<unknown>;
  /** The most rows of one transaction. */
  readonly batch: number;
}

/**
 * Does work of the system inside one environment after the other, since a cluster of Citus can lock and choose rows only so.
 * `take` runs in a transaction of the system and gives the number of rows that it took: fewer than the most, and none are left.
 */
export async function drainEnvironments(
  database: Database,
  { rows, batch }: WorkOfEnvironments,
  take: (environmentId: number, most: number) => Promise<number>,
): Promise<void> {
  const { rows: due } = await database.system(() =>
    plannedForValues(database, {}, () =>
      sql<{
        environmentId: number;
      }>`select distinct environment_id from ${rows} order by environment_id`.execute(database.tables()),
    ),
  );
  while (due.length > 0)
    await database.system(async () => {
      for (let most = batch; most > 0 && due.length > 0;) {
        const taken = await take(due[0]!.environmentId, most);
        if (taken < most) due.shift();
        most -= taken;
      }
    });
}
