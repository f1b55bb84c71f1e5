import type { Database } from '#platform';

/** Channel on which senders hear that there is something to send. */
export const DELIVERIES_CHANNEL = 'mailwright_deliveries';

/** Wakes all senders when the open transaction commits. */
export function wakeSenders(database: Database): void {
  database.notify(DELIVERIES_CHANNEL);
}
