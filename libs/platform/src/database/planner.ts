import { type Kysely, type RawBuilder, sql } from 'kysely';

/**
 * Ends a subselect that is a look-up for each row: the planner never makes a join of it, which would read all that belongs to
 * a project where statistics say that this is nothing.
 */
export const neverJoined: RawBuilder<unknown> = sql.raw('offset 0');

/** Planner settings of a transaction. */
export type PlannerSetting = 'work_mem' | 'plan_cache_mode' | 'enable_nestloop' | 'enable_seqscan';

/**
 * Runs `work` on plans for the values of each statement, under `settings`, in the open transaction: for sets, of which the values
 * tell how many rows they are. Afterwards the settings are what they were.
 */
export async function plannedForValues<T>(
  database: { tables(): Kysely<unknown> },
  settings: Partial<Record<PlannerSetting, RawBuilder<unknown> | string>>,
  work: () => Promise<T>,
): Promise<T> {
  const wanted = Object.entries({ plan_cache_mode: 'force_custom_plan', ...settings });
  const changes = wanted.map(
    ([name, value]) => sql`current_setting(${name}), set_config(${name}, ${value}, true)`,
  );
  const { rows } = await sql<{ readonly before: readonly string[] }>`
    select array[${sql.join(changes)}] as before
  `.execute(database.tables());
  const result = await work();
  const before = wanted.map(([name], index) => sql`set_config(${name}, ${rows[0]!.before[index * 2]}, true)`);
  await sql`select ${sql.join(before)}`.execute(database.tables());
  return result;
}
