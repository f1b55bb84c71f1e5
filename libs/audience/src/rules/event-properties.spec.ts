import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import * as fc from '#testing/random/properties';
import { propertiesPath, propertyTestsOf } from './event-properties.js';
import type { PropertyTest } from './rule.js';

const ORDER = {
  total: 62.5,
  currency: 'EUR',
  paid: true,
  coupon: null,
  tags: ['new', 'a.b*c'],
  items: [
    { sku: 'A1', quantity: 2, sizes: [1, 2] },
    { sku: 'B2', quantity: 1 },
  ],
  ship: { to: { city: 'Zürich "Altstadt"\n' } },
};

describe('tests of properties', () => {
  const test = (property: unknown, op: unknown, value?: unknown) => ({ property, op, value });
  const read = (...tests: unknown[]) => propertyTestsOf(tests, 'where');

  const REFUSED: readonly [unknown, object][] = [
    [test('total', 'near', 1), { 'where[0].op': expect.stringMatching(/^must be one of eq, neq/) }],
    [test('total', 'gte', '50'), { 'where[0].value': 'must be a number for gte' }],
    [test('total', 'contains', 5), { 'where[0].value': 'must be a string for contains' }],
    [test('total', 'in', 5), { 'where[0].value': 'must be a list for in' }],
    [test('total', 'in', []), { 'where[0].value': 'must have 1 to 100 items' }],
    [test('total', 'in', [[1]]), { 'where[0].value': expect.stringMatching(/^must be a list of/) }],
    [test('total', 'exists', true), { 'where[0].value': 'must be no value for exists' }],
    [
      test('total', 'eq', {}),
      { 'where[0].value': 'must be a string or a number or true or false or null for eq' },
    ],
    [test('total', 'eq', 'a\u0000'), { 'where[0].value': 'is not valid Unicode text' }],
    [test(undefined, 'exists'), { 'where[0].property': 'is required' }],
    ...['', '.', 'a..b', 'a.', 'items[0].sku', '$["a"]', 'a\nb', 'x'.repeat(129)].map(
      (path): [unknown, object] => [
        test(path, 'exists'),
        { 'where[0].property': expect.stringMatching(/^must be names with dots/) },
      ],
    ),
    [
      test(Array(21).fill('a').join('.'), 'exists'),
      { 'where[0].property': 'must be at most 20 levels deep' },
    ],
    [{ ...test('a', 'exists'), more: 1 }, { 'where[0].more': 'is not a known field' }],
  ];
  it.each(REFUSED)('are refused by their paths (%#)', (faulty, errors) => {
    expect(read(faulty)).toEqual({ errors });
  });

  it('are a list of at most ten', () => {
    expect(propertyTestsOf({}, 'where')).toEqual({ errors: { where: 'must be a list' } });
    expect(propertyTestsOf([], 'where')).toEqual({ errors: { where: 'must not be empty' } });
    expect(read(...Array(11).fill(test('a', 'exists')))).toEqual({
      errors: { where: 'must have at most 10 conditions' },
    });
    expect(propertyTestsOf(undefined, 'where')).toEqual({ tests: [] });
  });

  describe('in PostgreSQL', () => {
    let database: TestDatabase;
    beforeAll(async () => {
      database = await createTestDatabase();
    });
    afterAll(() => database?.drop());

    async function holds(properties: unknown, ...tests: readonly unknown[]): Promise<boolean> {
      const checked = read(...tests);
      if ('errors' in checked) throw new Error(JSON.stringify(checked.errors));
      const [row] = await database.query<{ holds: boolean }>(
        'select coalesce($1::jsonb @@ $2::jsonpath, false) as holds',
        [JSON.stringify(properties), propertiesPath(checked.tests)],
      );
      return row!.holds;
    }

    it.each([
      [test('total', 'gte', 62.5), true],
      [test('total', 'gt', 62.5), false],
      [test('total', 'lt', -5), false],
      [test('total', 'eq', '62.5'), false],
      [test('total', 'neq', '62.5'), true],
      [test('coupon', 'eq', null), true],
      [test('coupon', 'exists'), true],
      [test('voucher', 'exists'), false],
      [test('voucher', 'notExists'), true],
      [test('voucher', 'neq', 1), false],
      [test('items.sku', 'eq', 'B2'), true],
      [test('items.sku', 'eq', 'C3'), false],
      [test('items.sku', 'in', ['C3', 'A1']), true],
      [test('items.sizes', 'eq', 2), true],
      [test('items.quantity', 'gt', 1), true],
      [test('tags', 'contains', '.b*'), true],
      [test('tags', 'contains', 'abc'), false],
      [test('tags', 'endsWith', '*c'), true],
      [test('tags', 'notContains', 'e'), true],
      [test('currency', 'startsWith', 'EU'), true],
      [test('currency', 'eq', 'eur'), false],
      [test('paid', 'eq', true), true],
      [test('ship.to.city', 'eq', 'Zürich "Altstadt"\n'), true],
      [test('ship.to.city', 'contains', '"Alt'), true],
      [test('ship', 'eq', 'x'), false],
    ])('hold as they say (%#)', async (one, expected) => {
      expect(await holds(ORDER, one)).toBe(expected);
    });

    it('hold together for one event', async () => {
      const both = [test('total', 'gte', 50), test('items.sku', 'eq', 'A1')];
      expect(await holds(ORDER, ...both)).toBe(true);
      expect(await holds({ ...ORDER, total: 10 }, ...both)).toBe(false);
    });

    it('hold as a plain reading of them says, whatever the properties are', async () => {
      const scalar = fc.oneof(
        fc.constantFrom(0, 1, -1, 2.5, 1e21, '', 'a', 'A', 'a.b', '$^"\\', 'ü\n', true, false, null),
        fc.string({ unit: 'grapheme', maxLength: 3 }).filter((text) => !text.includes('\u0000')),
      );
      const leaf = fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }));
      const inner = fc.record({ b: leaf, c: leaf }, { requiredKeys: [] });
      const properties = fc.record(
        { a: fc.oneof(leaf, inner, fc.array(inner, { maxLength: 3 })), 'é "x': leaf },
        { requiredKeys: [] },
      );
      const tests = fc.oneof(
        fc.record({ op: fc.constantFrom('eq', 'neq'), value: scalar }),
        fc.record({
          op: fc.constantFrom('contains', 'notContains', 'startsWith', 'endsWith'),
          value: scalar.map(String),
        }),
        fc.record({ op: fc.constantFrom('gt', 'gte', 'lt', 'lte'), value: fc.constantFrom(-1, 0, 1, 2.5) }),
        fc.record({
          op: fc.constantFrom('in', 'notIn'),
          value: fc.array(
            scalar.filter((one) => one !== null),
            { minLength: 1, maxLength: 3 },
          ),
        }),
        fc.record({ op: fc.constantFrom('exists', 'notExists') }),
      );
      await fc.assert(
        fc.asyncProperty(
          properties,
          fc.constantFrom('a', 'a.b', 'a.c', 'c'),
          tests,
          async (of, property, one) => {
            const {
              tests: [wanted],
            } = read({ property, ...one }) as { tests: readonly [PropertyTest] };
            expect(await holds(of, { property, ...one })).toBe(plainly(of, wanted));
          },
        ),
        { numRuns: 200 },
      );
    });
  });
});

/** All that is at a path: lists on the way and at the end are opened. */
function found(value: unknown, path: readonly string[]): readonly unknown[] {
  const [name, ...rest] = path;
  const opened = Array.isArray(value) ? (value as unknown[]) : [value];
  if (name === undefined) return opened;
  return opened.flatMap((each) =>
    typeof each === 'object' && each !== null && !Array.isArray(each) && Object.hasOwn(each, name)
      ? found((each as Record<string, unknown>)[name], rest)
      : [],
  );
}

function plainly(properties: unknown, { path, op, value }: PropertyTest): boolean {
  const there = found({ at: properties }, ['at', ...path]);
  const texts = (holds: (text: string) => boolean) => (one: unknown) => typeof one === 'string' && holds(one);
  const numbers = (holds: (number: number) => boolean) => (one: unknown) =>
    typeof one === 'number' && holds(one);
  const wanted = String(value);
  const limit = Number(value);
  const tests: Record<string, (one: unknown) => boolean> = {
    eq: (one) => one === value,
    neq: (one) => one !== value,
    in: (one) => (value as readonly unknown[]).includes(one),
    notIn: (one) => !(value as readonly unknown[]).includes(one),
    contains: texts((text) => text.includes(wanted)),
    notContains: (one) => typeof one !== 'string' || !one.includes(wanted),
    startsWith: texts((text) => text.startsWith(wanted)),
    endsWith: texts((text) => text.endsWith(wanted)),
    gt: numbers((number) => number > limit),
    gte: numbers((number) => number >= limit),
    lt: numbers((number) => number < limit),
    lte: numbers((number) => number <= limit),
  };
  // An empty list is there.
  const owners = found({ at: properties }, ['at', ...path.slice(0, -1)]);
  const isThere = owners.some(
    (one) => typeof one === 'object' && one !== null && Object.hasOwn(one, path.at(-1) ?? ''),
  );
  if (op === 'exists' || op === 'notExists') return isThere === (op === 'exists');
  return there.some(tests[op]!);
}
