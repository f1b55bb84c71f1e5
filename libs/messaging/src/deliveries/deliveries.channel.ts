import { sql } from 'kysely';
import type { Database } from '#platform';

/** NOTIFY channel on which senders hear that there is something to send. */
export const DELIVERIES_CHANNEL = 'mailwright_deliveries';

/** Wakes all senders when the open transaction commits. */
export async function wakeSenders(database: Database): Promise<void> {
  await sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`.execute(database.tables());
}
