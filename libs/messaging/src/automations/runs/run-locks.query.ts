import { type RawBuilder, sql } from 'kysely';
import type { Database } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import type { VersionPlan } from '../nodes/version-plan.js';

/**
 * Shares the lock of the automation's steps: until the open transaction ends it is not paused or archived. Resolves to
 * whether it is ACTIVE.
 */
export async function holdSteps(
  database: Database,
  { scope: { environmentId }, automationId }: Pick<VersionPlan, 'scope' | 'automationId'>,
): Promise<boolean> {
  await sql`select pg_advisory_xact_lock_shared(${stepsLock(automationId)})`.execute(database.tables());
  const automation = await database
    .tables<MessagingTables>()
    .selectFrom('messaging.automations')
    .select('status')
    .where('environmentId', '=', environmentId)
    .where('id', '=', automationId)
    .executeTakeFirst();
  return automation?.status === 'ACTIVE';
}

/** Waits for step batches of the automation that are under way; none begins until the open transaction ends. */
export async function stopSteps(database: Database, automationId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${stepsLock(automationId)})`.execute(database.tables());
}

/** People enter an automation in one transaction at a time, so that each sees whom the others let in. */
export async function lockEntry(database: Database, automationId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`automation-entry:${automationId}`}, 0))`.execute(
    database.tables(),
  );
}

function stepsLock(automationId: string): RawBuilder<unknown> {
  return sql`hashtextextended(${`automation-steps:${automationId}`}, 0)`;
}
