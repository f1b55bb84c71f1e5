import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.js';

/** Work that waits in the rows of any project. */
export interface WorkOfEnvironments {
  /** What it waits in: a FROM with its WHERE. */
  readonly rows: RawBuilder<unknown>;
  /** The most rows of one transaction. */
  readonly batch: number;
}

/**
 * Does work of the system by finding the environments that have some, and then inside one of them after the other, which is
 * how a cluster of Citus can lock and choose rows. `take` runs in a transaction of the system and answers how many rows it
 * took; an environment of which it took fewer than the most has none left.
 */
export async function drainEnvironments(
  database: Database,
  { rows, batch }: WorkOfEnvironments,
  take: (environmentId: number, most: number) => Promise<number>,
): Promise<void> {
  const { rows: due } = await database.system(() =>
    sql<{
      environmentId: number;
    }>`select distinct environment_id from ${rows} order by environment_id`.execute(database.tables()),
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
