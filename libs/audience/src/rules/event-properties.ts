import { member, RuleFaults } from './rule-faults.js';
import { PROPERTY_OPERATORS, type PropertyOperator, type PropertyTest } from './rule.js';

const MAX_TESTS = 10;
const MAX_LEVELS = 20;
const MAX_TEXT = 1_000;
const MAX_CHOICES = 100;
/** A name between dots. Brackets and quotes are no part of it, so that `items[0]` is not taken for a name that nothing has. */
const NAME = /^[^.[\]"\p{Cc}]{1,128}$/u;

const ALL_OPERATORS: readonly PropertyOperator[] = [...new Set(Object.values(PROPERTY_OPERATORS).flat())];
const TYPE_NAMES = {
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  null: 'null',
  list: 'a list',
  none: 'no value',
} as const;

/** Reads `[{"property":P,"op":OP,"value":V}]`; all of the tests have to hold for one event. */
export function readPropertyTests(
  value: unknown,
  path: string,
  faults: RuleFaults,
): readonly PropertyTest[] | null {
  if (Array.isArray(value) && value.length > MAX_TESTS)
    return faults.add(path, `must have at most ${MAX_TESTS} conditions`);
  return faults.list(value, path, (each, at) => readTest(each, at, faults));
}

/** The same for other JSON than rules: the tests, none where there is no JSON, or all errors by path. */
export function propertyTestsOf(
  value: unknown,
  path: string,
): { readonly tests: readonly PropertyTest[] } | { readonly errors: Readonly<Record<string, string>> } {
  if (value === undefined || value === null) return { tests: [] };
  const faults = new RuleFaults();
  const tests = readPropertyTests(value, path, faults);
  return tests !== null && faults.isEmpty ? { tests } : { errors: faults.errors };
}

function readTest(value: unknown, path: string, faults: RuleFaults): PropertyTest | null {
  const test = faults.object(value, path);
  if (test === null) return null;
  faults.onlyMembers(test, ['property', 'op', 'value'], path);
  const names = readPath(member(test, 'property'), `${path}.property`, faults);
  const op = faults.oneOf(member(test, 'op'), ALL_OPERATORS, `${path}.op`);
  if (op === null) return null;
  const wanted = member(test, 'value');
  const type = typeOf(wanted);
  const known: readonly PropertyOperator[] = type === null ? [] : PROPERTY_OPERATORS[type];
  if (!known.includes(op)) {
    const fitting = Object.entries(PROPERTY_OPERATORS)
      .filter(([, operators]) => (operators as readonly PropertyOperator[]).includes(op))
      .map(([name]) => TYPE_NAMES[name as keyof typeof TYPE_NAMES]);
    return faults.add(`${path}.value`, `must be ${fitting.join(' or ')} for ${op}`);
  }
  const fault = valueFault(wanted);
  if (fault !== null) return faults.add(`${path}.value`, fault);
  return names === null ? null : { path: names, op, value: wanted as PropertyTest['value'] };
}

function readPath(value: unknown, path: string, faults: RuleFaults): readonly string[] | null {
  const text = faults.string(value, path);
  if (text === null) return null;
  const names = text.split('.');
  if (names.some((name) => !NAME.test(name)))
    return faults.add(
      path,
      'must be names with dots between them, such as items.sku, which finds any of the items',
    );
  return names.length > MAX_LEVELS ? faults.add(path, `must be at most ${MAX_LEVELS} levels deep`) : names;
}

function typeOf(value: unknown): keyof typeof PROPERTY_OPERATORS | null {
  if (value === undefined) return 'none';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' ? type : null;
}

function valueFault(value: unknown): string | null {
  if (Array.isArray(value)) {
    if (value.length === 0 || value.length > MAX_CHOICES) return `must have 1 to ${MAX_CHOICES} items`;
    const faulty = value.find((each) => typeof each === 'object' || valueFault(each) !== null);
    return faulty === undefined ? null : 'must be a list of strings, numbers, true and false';
  }
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'must be a number';
  if (typeof value !== 'string') return null;
  if (!value.isWellFormed() || value.includes('\u0000')) return 'is not valid Unicode text';
  return value.length > MAX_TEXT ? `must be at most ${MAX_TEXT} characters` : null;
}

/** The tests as one predicate of SQL/JSON (ISO 9075-2 §9.39), in lax mode: it opens lists on the way. */
export function propertiesPath(tests: readonly PropertyTest[]): string {
  return tests.map(testPath).join(' && ');
}

function testPath({ path, op, value }: PropertyTest): string {
  const at = `$${path.map((name) => `.${JSON.stringify(name)}`).join('')}`;
  switch (op) {
    case 'exists':
      return `exists(${at})`;
    case 'notExists':
      return `!exists(${at})`;
    case 'neq':
      return exceptWhere(at, comparison('@', 'eq', value));
    case 'notIn':
      return exceptWhere(at, comparison('@', 'in', value));
    case 'notContains':
      return exceptWhere(at, comparison('@', 'contains', value));
    default:
      return `(${comparison(at, op, value)})`;
  }
}

/** Something is there for which the test is not true. What is of another type cannot be compared, which is unknown. */
const exceptWhere = (at: string, test: string): string =>
  `exists(${at} ? (!(${test}) || (${test}) is unknown))`;

const COMPARISONS = { eq: '==', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/** A test that is true where any of the items is; a plain comparison is faster than a filter. */
function comparison(
  at: string,
  op: keyof typeof COMPARISONS | 'in' | 'contains' | 'startsWith' | 'endsWith',
  value: PropertyTest['value'],
): string {
  switch (op) {
    case 'in':
      return (value as readonly unknown[]).map((each) => `${at} == ${JSON.stringify(each)}`).join(' || ');
    case 'startsWith':
      return `${at} starts with ${JSON.stringify(value)}`;
    case 'contains':
      return `${at} like_regex ${JSON.stringify(escaped(value))} flag "s"`;
    case 'endsWith':
      return `${at} like_regex ${JSON.stringify(`${escaped(value)}$`)} flag "s"`;
    default:
      return `${at} ${COMPARISONS[op]} ${JSON.stringify(value)}`;
  }
}

/** As a regular expression, the only way that SQL/JSON has to look inside a text. */
const escaped = (text: unknown): string => String(text).replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
