import { sql } from 'kysely';
import type { Database } from '#platform';

/** NOTIFY channel on which runners hear that a run may have a step to take. */
export const RUNS_CHANNEL = 'mailwright_automations';

/** Wakes all runners when the open transaction commits. */
export async function wakeRunners(database: Database): Promise<void> {
  await sql`select pg_notify(${RUNS_CHANNEL}, '')`.execute(database.tables());
}
