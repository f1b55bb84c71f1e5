import { type RawBuilder, sql } from 'kysely';
import type { Database, RetentionKind } from '#platform';

/** From which day on what is kept: `YYYY-MM-DD`; for all environments together the first of a month. */
export interface Horizon {
  readonly kind: RetentionKind;
  readonly day: string;
  /** Null: of all. */
  readonly environmentId: number | null;
}

/** Of one environment, or of all. */
export const within = (environmentId: number | null, column: string): RawBuilder<unknown> =>
  environmentId === null ? sql`true` : sql`${sql.ref(column)} = ${environmentId}`;

/** The one environment, or all that have `rows` (a FROM with its WHERE): a cluster of Citus can lock and write in one alone. */
export async function environmentsOf(
  database: Database,
  rows: RawBuilder<unknown>,
  table: string,
  environmentId: number | null,
): Promise<readonly number[]> {
  if (environmentId !== null) return [environmentId];
  const id = sql.ref(`${table}.environment_id`);
  const found = await sql<{ id: number }>`select distinct ${id} as id from ${rows} order by 1`.execute(
    database.tables(),
  );
  return found.rows.map((row) => row.id);
}
