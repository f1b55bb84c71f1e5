import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Database, plannedForValues } from '#platform';
import { subscriberCount } from '../counters.query.js';
import { hasOneOf } from './field-predicate.query.js';
import type { FieldTest, RuleNode } from './rule.js';

/** Memory for hashed sets: without it a set of a million people would be searched once for each of a million. */
const ROOM = '64MB';

/** Runs `work` with memory for the sets of conditions that cannot be joins. */
export function withRoomForSets<T>(database: Database, work: () => Promise<T>): Promise<T> {
  return plannedForValues(database, { work_mem: ROOM }, work);
}

/**
 * Runs `work`, a statement about all subscribers: sets are hashed or merged. With statistics older than most of the rows the
 * planner would compare everybody with everybody in a nested loop.
 */
export function plannedForSets<T>(database: Database, work: () => Promise<T>): Promise<T> {
  return plannedForValues(database, { work_mem: ROOM, enable_nestloop: 'off' }, work);
}

/** Size of a subscriber's row: few take less. */
const ROW_BYTES = 400;
/** A project with one in so many of all rows is read no slower by reading the whole table. */
const LARGE_SHARE = 4;

/**
 * The same for rules: by an index that begins with the environment, so that a small project does not read the rows of a large
 * one. A `predicate` on subscribers alone reads the whole table, in parallel, where the project has a good part of it. The sizes
 * are counted and measured, since statistics may be old.
 */
export function plannedForRules<T>(
  database: Database,
  scope: ProjectScope,
  predicate: RawBuilder<boolean>,
  work: () => Promise<T>,
): Promise<T> {
  const readsOthers = /\bselect\b/i.test(predicate.compile(database.tables()).sql);
  const enable_seqscan = readsOthers
    ? 'off'
    : sql`case when ${isLargeProject(scope)} then 'on' else 'off' end`;
  return plannedForValues(database, { work_mem: ROOM, enable_nestloop: 'off', enable_seqscan }, work);
}

/** SQL condition: the project has a good part of all subscribers. Null on Citus, where the table itself has no rows. */
function isLargeProject(scope: ProjectScope): RawBuilder<boolean | null> {
  return sql`(${subscriberCount(scope)} * ${ROW_BYTES * LARGE_SHARE}::bigint >= nullif(pg_relation_size('audience.subscribers'), 0))`;
}

/** The size of the random sample: some 2 000 people. */
const PAGES = 100;
const PAGE_BYTES = 8192;
/** Reading rows is faster than the index when at least one in so many people matches. */
const FREQUENT_SHARE = 8;

/** The tests of rules for several options that many people have. */
export type FrequentOptions = ReadonlySet<FieldTest>;

interface OptionTest {
  readonly custom: string;
  readonly test: FieldTest & { readonly test: 'choice' };
}

/**
 * Finds by a sample the conditions on several options that match many people of a large project: several processes can read
 * rows, but only one builds the index's bitmap. None in a small project, which would read the rows of others, too.
 */
export async function frequentOptions(
  database: Database,
  scope: ProjectScope,
  rules: readonly RuleNode[],
): Promise<FrequentOptions> {
  const asked = rules.flatMap(optionTests);
  if (asked.length === 0) return new Set();
  const frequent = await database.transaction(scope, async () => {
    const percent = await samplePercent(database, scope);
    if (percent === 0) return [];
    const { rows } = await sql<{ frequent: boolean[] }>`
      select array[${sql.join(asked.map(isFrequent))}] as frequent
      from audience.subscribers b tablesample system (${percent}) where b.environment_id = ${scope.environmentId}
    `.execute(database.tables());
    return rows[0]?.frequent ?? [];
  });
  return new Set(asked.flatMap(({ test }, index) => (frequent[index] === true ? [test] : [])));
}

/** Part of the table's pages that make the sample; 0 for a small project. */
async function samplePercent(database: Database, scope: ProjectScope): Promise<number> {
  const { rows } = await sql<{ percent: number }>`
    select case when ${isLargeProject(scope)}
      then least(100, 100.0 * ${PAGES * PAGE_BYTES}::bigint / pg_relation_size('audience.subscribers'))::float8
      else 0 end as percent
  `.execute(database.tables());
  return rows[0]!.percent;
}

function isFrequent({ custom, test }: OptionTest): RawBuilder<boolean> {
  return sql<boolean>`count(*) filter (where ${hasOneOf(custom, test.values)}) * ${FREQUENT_SHARE}::bigint > count(*)`;
}

/** The tests for several options of a custom field. For one option the index needs one bitmap, which is quick. */
function optionTests(node: RuleNode): readonly OptionTest[] {
  switch (node.kind) {
    case 'and':
    case 'or':
      return node.nodes.flatMap(optionTests);
    case 'not':
      return optionTests(node.node);
    case 'field': {
      const { field, test } = node;
      if (!('custom' in field) || test.test !== 'choice' || test.values.length === 1) return [];
      return [{ custom: field.custom, test }];
    }
    default:
      return [];
  }
}
