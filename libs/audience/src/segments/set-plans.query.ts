import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import type { Database } from '#platform';
import { subscriberCount } from '../counters.query.js';

/** Of memory: without it a set of a million people would be searched once for each of a million. */
const ROOM = '64MB';

/** Room for the sets that a condition is looked up in, where it cannot be a join. Holds until the transaction ends. */
export async function makeRoomForSets(database: Database): Promise<void> {
  await sql`select set_config('work_mem', ${ROOM}, true)`.execute(database.tables());
}

/**
 * For a statement that asks of everybody: sets are hashed or merged, never searched row by row. Statistics that are
 * older than most of the people say that there is hardly anybody, and a nested loop would compare everybody with
 * everybody. Holds until `endSets`.
 */
export async function prepareForSets(database: Database): Promise<void> {
  await sql`select set_config('work_mem', ${ROOM}, true), set_config('enable_nestloop', 'off', true)`.execute(
    database.tables(),
  );
}

/** Of a subscriber's row: few take less. */
const ROW_BYTES = 400;
/** Who has one in so many of the rows is read no slower with all the others. */
const LARGE_SHARE = 4;

/**
 * The same for rules, which ask of a topic or a project that the planner does not know: by an index that begins with whose
 * they are, so that a small project reads its own rows and not those of the large one beside it. Rules of which
 * `predicate` asks nothing but the person's own row are another matter where the project has a good part of all: the table
 * is read as a whole, which both cores can share. The project's size is counted and the table's is measured, since
 * statistics of either may be old.
 */
export async function prepareForRules(
  database: Database,
  scope: ProjectScope,
  predicate: RawBuilder<boolean>,
): Promise<void> {
  const asksOthers = /\bselect\b/i.test(predicate.compile(database.tables()).sql);
  await sql`
    select set_config('work_mem', ${ROOM}, true), set_config('enable_nestloop', 'off', true),
      set_config('enable_seqscan', ${asksOthers ? sql`'off'` : sql`case when ${isLargeProject(scope)} then 'on' else 'off' end`}, true)
  `.execute(database.tables());
}

/** Whether the project has a good part of all rows: an SQL value. */
export function isLargeProject(scope: ProjectScope): RawBuilder<boolean> {
  return sql`(${subscriberCount(scope)} * ${ROW_BYTES * LARGE_SHARE}::bigint >= pg_relation_size('audience.subscribers'))`;
}

/** What follows in the transaction looks up single rows again. */
export async function endSets(database: Database): Promise<void> {
  await sql`set local enable_nestloop to default; set local enable_seqscan to default`.execute(
    database.tables(),
  );
}
