import { type RawBuilder, sql } from 'kysely';
import { anniversaryDays, daysOf, momentsOf, type Span } from './rule-dates.js';
import type { DateTest, FieldCondition, FieldTest, NumberBound, RuleField } from './rule.js';

/** Most options that are compared one by one; for more, the text of the value is searched. */
const MAX_CONTAINMENTS = 4;

const COLUMNS = {
  email: sql`b.email_key`,
  externalId: sql`audience.folded(b.external_id)`,
  firstName: sql`audience.folded(b.first_name)`,
  lastName: sql`audience.folded(b.last_name)`,
  phone: sql`audience.folded(b.phone)`,
  locale: sql`audience.folded(b.locale)`,
  timeZone: sql`audience.folded(b.time_zone)`,
  status: sql`b.status`,
  source: sql`b.source`,
  createdAt: sql`b.created_at`,
} as const;
/** Present unless null. */
const STORED = {
  ...COLUMNS,
  externalId: sql`b.external_id`,
  firstName: sql`b.first_name`,
  lastName: sql`b.last_name`,
  phone: sql`b.phone`,
  locale: sql`b.locale`,
  timeZone: sql`b.time_zone`,
} as const;

/**
 * A condition on a value of the subscriber `b`; unless negated it may be null where it is not true. A value of another type,
 * left by a former custom field, counts as missing: jsonb and texts are compared without casts, so that none can fail.
 * `frequent`: tests for options of many people, for which rows are read.
 */
export function fieldPredicate(
  { field, test, negated }: FieldCondition,
  now: Date,
  frequent: ReadonlySet<FieldTest>,
): RawBuilder<boolean> {
  const holds =
    'custom' in field && test.test === 'choice' && frequent.has(test)
      ? hasOneOf(field.custom, test.values)
      : testOf(field, test, now);
  return negated ? sql`((${holds}) is not true)` : sql`(${holds})`;
}

/** The values that custom fields must contain by the condition, which the index finds together; null for other conditions. */
export function containmentOf({
  field,
  test,
  negated,
}: FieldCondition): Readonly<Record<string, unknown>> | null {
  if (negated || !('custom' in field)) return null;
  const value = containedValue(test);
  return value === undefined ? null : { [field.custom]: value };
}

function containedValue(test: FieldTest): unknown {
  if (test.test === 'boolean') return test.value;
  if (test.test === 'number' && test.from?.value === test.to?.value) return test.from?.value;
  if (test.test === 'choice' && test.values.length === 1) return test.values[0];
  const isAll = test.test === 'choices' && (test.match === 'all' || test.values.length === 1);
  return isAll ? test.values : undefined;
}

/** The custom fields contain all of this. */
export function containsAll(values: Readonly<Record<string, unknown>>): RawBuilder<boolean> {
  return sql`(b.custom_fields @> ${JSON.stringify(values)}::jsonb)`;
}

function testOf(field: RuleField, test: FieldTest, now: Date): RawBuilder<unknown> {
  if ('column' in field) return columnTest(field.column, test, now);
  return customTest(field.custom, test, now);
}

function columnTest(column: keyof typeof COLUMNS, test: FieldTest, now: Date): RawBuilder<unknown> {
  const value = COLUMNS[column];
  if (test.test === 'exists') return sql`${STORED[column]} is not null`;
  if (test.test === 'text') return textTest(value, test);
  if (test.test === 'choice') return sql`${value} = any(${[...test.values]}::text[])`;
  if (test.test !== 'calendar' && test.test !== 'relative')
    throw new Error(`No column has ${test.test} values.`);
  if (test.test === 'relative' && test.is === 'anniversaryInNext') {
    return anniversaryTest(
      sql`to_char(${value} at time zone 'UTC', 'MM-DD')`,
      anniversaryDays(test.duration, now),
    );
  }
  return spanTest(momentsOf(test, now), (bound) => sql`${bound}::timestamptz`, value);
}

function customTest(key: string, test: FieldTest, now: Date): RawBuilder<unknown> {
  const json = sql`b.custom_fields -> ${key}::text`;
  switch (test.test) {
    case 'exists':
      return existsTest(json, test.of);
    case 'text': {
      const text = sql`audience.folded(b.custom_fields ->> ${key}::text)`;
      return sql`${textTest(text, test)} and jsonb_typeof(${json}) = 'string'`;
    }
    case 'number':
      return numberTest(key, json, test);
    case 'boolean':
      return contains(key, test.value);
    case 'choice':
      return choiceTest(key, test.values);
    case 'choices':
      return choicesTest(key, test);
    case 'calendar':
    case 'relative':
      return dateTest(key, json, test, now);
  }
}

function existsTest(
  json: RawBuilder<unknown>,
  of: (FieldTest & { test: 'exists' })['of'],
): RawBuilder<unknown> {
  if (of === 'choices') return sql`jsonb_typeof(${json}) = 'array' and ${json} <> '[]'::jsonb`;
  const type = of === 'number' || of === 'boolean' ? of : 'string';
  return sql`jsonb_typeof(${json}) = ${type}`;
}

function textTest(
  text: RawBuilder<unknown>,
  { is, values }: FieldTest & { test: 'text' },
): RawBuilder<unknown> {
  const [value = ''] = values;
  switch (is) {
    case 'equal':
      return values.length === 1 ? sql`${text} = ${value}::text` : sql`${text} = any(${[...values]}::text[])`;
    case 'containing':
      return sql`strpos(${text}, ${value}::text) > 0`;
    case 'beginning':
      return sql`starts_with(${text}, ${value}::text)`;
    case 'ending':
      return sql`right(${text}, char_length(${value}::text)) = ${value}::text`;
  }
}

/** In jsonb's order numbers lie together: a value between two numbers is a number. */
function numberTest(
  key: string,
  json: RawBuilder<unknown>,
  { from, to }: FieldTest & { test: 'number' },
): RawBuilder<unknown> {
  if (from !== null && to !== null && from.value === to.value) return contains(key, from.value);
  const bounds = spanTest<number>(
    { from, to },
    (bound) => sql`${JSON.stringify(bound)}::jsonb`,
    sql`(${json})`,
  );
  return from !== null && to !== null ? bounds : sql`${bounds} and jsonb_typeof(${json}) = 'number'`;
}

/** Containment, for the index on all custom fields. */
function contains(key: string, value: unknown): RawBuilder<unknown> {
  return sql`b.custom_fields @> ${JSON.stringify({ [key]: value })}::jsonb`;
}

function choiceTest(key: string, values: readonly string[]): RawBuilder<unknown> {
  if (values.length > MAX_CONTAINMENTS) return hasOneOf(key, values);
  return sql.join(
    values.map((value) => contains(key, value)),
    sql` or `,
  );
}

/** SQL condition: the custom field has one of the options. Reads the row; no index answers it. */
export function hasOneOf(key: string, options: readonly string[]): RawBuilder<boolean> {
  const isOne = sql<boolean>`(b.custom_fields ->> ${key}::text) = any(${[...options]}::text[])`;
  // An option that is no JSON can only be the text of a string, which saves the look at the type.
  if (!options.some(isJson)) return isOne;
  return sql`${isOne} and jsonb_typeof(b.custom_fields -> ${key}::text) = 'string'`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function choicesTest(key: string, { match, values }: FieldTest & { test: 'choices' }): RawBuilder<unknown> {
  if (match === 'all') return contains(key, values);
  return sql.join(
    values.map((value) => contains(key, [value])),
    sql` or `,
  );
}

/** A day has 10 characters, a moment 24; the order of the texts is that of time. */
function dateTest(key: string, json: RawBuilder<unknown>, test: DateTest, now: Date): RawBuilder<unknown> {
  const text = sql`(b.custom_fields ->> ${key}::text)`;
  const isDate = sql`jsonb_typeof(${json}) = 'string' and ${text} ~ ${test.of === 'date' ? DAY : MOMENT}`;
  if (test.test === 'relative' && test.is === 'anniversaryInNext') {
    return sql`${anniversaryTest(sql`substr(${text}, 6, 5)`, anniversaryDays(test.duration, now))} and ${isDate}`;
  }
  const inOrder = sql`(${text} collate "C")`;
  if (test.of === 'date')
    return sql`${spanTest(daysOf(test, now), (day) => sql`${day}::text`, inOrder)} and ${isDate}`;
  const moments = spanTest(momentsOf(test, now), (moment) => sql`${moment.toISOString()}::text`, inOrder);
  return sql`${moments} and ${isDate}`;
}

const DAY = String.raw`^\d{4}-\d\d-\d\d$`;
const MOMENT = String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`;

function anniversaryTest(day: RawBuilder<unknown>, days: readonly string[] | null): RawBuilder<unknown> {
  return days === null ? sql`${day} is not null` : sql`${day} = any(${[...days]}::text[])`;
}

function spanTest<Bound>(
  { from, to }: Span<Bound> | { readonly from: NumberBound | null; readonly to: NumberBound | null },
  literal: (bound: Bound) => RawBuilder<unknown>,
  value: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const tests = [
    ...(from === null
      ? []
      : [sql`${value} ${from.inclusive ? sql`>=` : sql`>`} ${literal(from.value as Bound)}`]),
    ...(to === null ? [] : [sql`${value} ${to.inclusive ? sql`<=` : sql`<`} ${literal(to.value as Bound)}`]),
  ];
  return sql.join(tests, sql` and `);
}
