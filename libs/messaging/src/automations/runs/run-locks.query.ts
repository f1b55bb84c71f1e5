import { sql } from 'kysely';
import type { Sql } from '#platform';

/** Until the transaction ends the automation is not paused or archived; shared with all who take steps in it. */
export async function holdSteps(db: Sql, automationId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock_shared(hashtextextended(${`automation-steps:${automationId}`}, 0))`.execute(
    db,
  );
}

/** Waits until nobody takes a step in the automation; until the transaction ends nobody does. */
export async function stopSteps(db: Sql, automationId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`automation-steps:${automationId}`}, 0))`.execute(
    db,
  );
}

/** One at a time lets people in, so that each sees whom the others let in. */
export async function lockEntry(db: Sql, automationId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`automation-entry:${automationId}`}, 0))`.execute(
    db,
  );
}
