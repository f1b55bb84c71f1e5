import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import type { Database } from '#platform';
import { hasOneOf } from './field-predicate.query.js';
import type { FieldTest, RuleNode } from './segment-rules.js';
import { isLargeProject } from './set-plans.query.js';

/** The size of the random sample: some 2 000 people, a millisecond or two. */
const PAGES = 100;
const PAGE_BYTES = 8192;
/** When at least one in so many people matches, reading rows is faster than the index. */
const FREQUENT_SHARE = 8;

/** The tests of rules for several options that many people have. */
export type FrequentOptions = ReadonlySet<FieldTest>;

interface OptionTest {
  readonly custom: string;
  readonly test: FieldTest & { readonly test: 'choice' };
}

/**
 * Finds, by a sample, the rules’ conditions on several options that match many people of a large project: one process
 * builds the index's bitmap, but several can read the rows. Finds none in a small project beside a large one, whose rows
 * would have to be read too.
 */
export async function frequentOptions(
  database: Database,
  scope: ProjectScope,
  rules: readonly RuleNode[],
): Promise<FrequentOptions> {
  const asked = rules.flatMap(optionTests);
  if (asked.length === 0) return new Set();
  const sampled = sql<{ frequent: boolean[] }>`
    select array[${sql.join(asked.map(isFrequent))}] as frequent
    from audience.subscribers b tablesample system (
      case when ${isLargeProject(scope)}
        then least(100, 100.0 * ${PAGES * PAGE_BYTES}::bigint / greatest(1, pg_relation_size('audience.subscribers')))
        else 0 end)
    where b.environment_id = ${scope.environmentId}
  `;
  const { rows } = await database.transaction(scope, () => sampled.execute(database.tables()));
  const frequent = rows[0]?.frequent ?? [];
  return new Set(asked.flatMap(({ test }, index) => (frequent[index] === true ? [test] : [])));
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
