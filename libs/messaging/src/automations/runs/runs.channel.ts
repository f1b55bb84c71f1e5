import { sql } from 'kysely';
import type { Sql } from '#platform';

/** NOTIFY channel on which runners hear that somebody may have a step to take. */
export const RUNS_CHANNEL = 'mailwright_automations';

/** Wakes all runners when the caller's transaction commits. */
export async function wakeRunners(db: Sql): Promise<void> {
  await sql`select pg_notify(${RUNS_CHANNEL}, '')`.execute(db);
}
