import { type RawBuilder, sql } from 'kysely';

/** When the statement came to PostgreSQL, by its clock: what processes share in time is compared and written with it. */
export const present: RawBuilder<Date> = sql`platform.now()`;

/** So many milliseconds after it; before it, where they are negative. */
export function presentAnd(milliseconds: number): RawBuilder<Date> {
  return sql`platform.now() + ${milliseconds}::float8 * interval '1 millisecond'`;
}
