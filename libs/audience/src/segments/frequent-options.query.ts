import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import type { Database } from '#platform';
import { hasOneOf } from './field-predicate.query.js';
import type { FieldTest, RuleNode } from './segment-rules.js';
import { isLargeProject } from './set-plans.query.js';

/** Of the table, drawn at random: some 2 000 people, a millisecond or two. */
const PAGES = 100;
const PAGE_BYTES = 8192;
/** From one in so many people on, their rows tell sooner than the index who has one of several options. */
const FREQUENT_SHARE = 8;

/** Tests of a rule for several options that many people have. */
export type FrequentOptions = ReadonlySet<FieldTest>;

interface OptionTest {
  readonly custom: string;
  readonly test: FieldTest & { readonly test: 'choice' };
}

/**
 * Which of the rules’ conditions on several options hold for many of a large project, by a sample: a bitmap of the index
 * is made by one process, the rows can be read by several. None in a small project beside a large one, whose rows would
 * have to be read with its own.
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

/** Those for one of several options of a custom field. For one alone the index makes one bitmap, which is quick. */
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
