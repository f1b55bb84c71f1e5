import type { Database } from '#platform';

/** Channel on which runners hear that a run may have a step to take. */
export const RUNS_CHANNEL = 'mailwright_automations';

/** Wakes all runners when the open transaction commits. */
export function wakeRunners(database: Database): void {
  database.notify(RUNS_CHANNEL);
}
