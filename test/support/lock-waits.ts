import type { TestDatabase } from './database.js';

/** Whether a session of the database waits for a lock that another one has. */
export async function isWaitingForLock(database: Pick<TestDatabase, 'query'>): Promise<boolean> {
  const rows = await database.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows.length > 0;
}
