import { sql } from 'kysely';
import type { Sql } from '#platform';

/** NOTIFY channel on which senders hear that there is something to send. */
export const DELIVERIES_CHANNEL = 'mailwright_deliveries';

/** Wakes all senders when the caller's transaction commits. */
export async function wakeSenders(db: Sql): Promise<void> {
  await sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`.execute(db);
}
