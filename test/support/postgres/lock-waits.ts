import { isOnCitus, type TestDatabase } from './database.js';

/** On a cluster of Citus a session may wait on any node. */
const ACTIVITY = isOnCitus ? 'citus_stat_activity' : 'pg_stat_activity';

/** True if a session of the database waits for a lock that another one has. */
export async function isWaitingForLock(database: Pick<TestDatabase, 'query'>): Promise<boolean> {
  const rows = await database.query(
    `select from ${ACTIVITY} where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows.length > 0;
}
