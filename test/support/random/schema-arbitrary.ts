import { HOSTILE_NAMES, HOSTILE_NUMBERS, HOSTILE_TEXTS, LARGE_TEXTS } from './hostile-values.js';
import * as fc from './properties.js';

/** The part of JSON Schema (2020-12) that the OpenAPI document uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** Options for making values of a schema. */
export interface Making {
  readonly resolve: (reference: string) => Schema;
  /** Better texts for a property of that name than its schema alone would give. */
  readonly byName: (name: string) => fc.Arbitrary<unknown> | undefined;
  /** Number of hostile values in 100, instead of what the schema says. With 0 all is within the bounds. */
  readonly hostility: number;
}

const LONGEST = 2_000;
const timestamps = fc
  .date({ min: new Date('2020-01-01'), max: new Date('2032-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString());
const FORMATS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  'date-time': timestamps,
  date: timestamps.map((text) => text.slice(0, 10)),
  uuid: fc.uuid(),
  email: fc.emailAddress(),
  'idn-email': fc.emailAddress(),
  uri: fc.webUrl(),
  ipv4: fc.ipV4(),
  ipv6: fc.ipV6(),
};

/** Anything, and mostly what hurts: in the place of any value of any type. */
export const hostileValues: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
  { weight: 4, arbitrary: fc.constantFrom(...HOSTILE_NUMBERS) },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], [{}]) },
  { weight: 2, arbitrary: fc.string({ unit: fc.codePoint, maxLength: 40 }) },
  { weight: 2, arbitrary: fc.array(fc.constantFrom(...HOSTILE_TEXTS), { maxLength: 5 }) },
  { weight: 2, arbitrary: fc.dictionary(fc.constantFrom(...HOSTILE_NAMES), fc.jsonValue({ maxDepth: 2 })) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 6 }) },
);

/** Values of the schema, and in the given share hostile ones. */
export function valuesOf(schema: Schema, making: Making, name = ''): fc.Arbitrary<unknown> {
  const plain = valid(schema, making, name);
  if (making.hostility === 0) return plain;
  return fc.oneof(
    { weight: 100 - making.hostility, arbitrary: plain },
    { weight: making.hostility, arbitrary: hostileValues },
  );
}

function valid(schema: Schema, making: Making, name: string): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return valid(making.resolve(schema.$ref), making, name);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined)
    return fc.oneof(...alternatives.map((each) => valuesOf(each, making, name)));
  const { type } = schema;
  if (typeof type === 'string') return ofType(type, schema, making, name);
  if (type !== undefined) return fc.oneof(...type.map((each) => ofType(each, schema, making, name)));
  return schema.properties === undefined ? fc.jsonValue({ maxDepth: 3 }) : objects(schema, making);
}

function ofType(type: string, schema: Schema, making: Making, name: string): fc.Arbitrary<unknown> {
  switch (type) {
    case 'object':
      return objects(schema, making);
    case 'array':
      return arrays(schema, making, name);
    case 'integer':
      return numbers(
        schema,
        making,
        fc.integer({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1_000 }),
      );
    case 'number':
      return numbers(schema, making, fc.double({ noNaN: true, noDefaultInfinity: true }));
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return making.byName(name) ?? texts(schema, making);
  }
}

function arrays(schema: Schema, making: Making, name: string): fc.Arbitrary<unknown> {
  const { items = {}, minItems = 0, maxItems = 8 } = schema;
  return fc.array(valuesOf(items, making, name), {
    minLength: minItems,
    maxLength: Math.max(minItems, Math.min(maxItems, 8)),
  });
}

/** Inside of the bounds, on them and, where hostile, one beyond. */
function numbers(
  { minimum, maximum }: Schema,
  { hostility }: Making,
  inside: fc.Arbitrary<number>,
): fc.Arbitrary<number> {
  if (hostility === 0) return inside;
  const edges = [minimum, maximum].flatMap((bound) =>
    bound === undefined ? [] : [bound, bound - 1, bound + 1],
  );
  return edges.length === 0 ? inside : fc.oneof(inside, fc.constantFrom(...edges));
}

function texts(schema: Schema, { hostility }: Making): fc.Arbitrary<unknown> {
  const { format, pattern, minLength = 0, maxLength = 200 } = schema;
  const special = format === undefined ? undefined : FORMATS[format];
  if (special !== undefined) return special;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  const longest = Math.min(maxLength, LONGEST);
  return fc.oneof(
    fc.string({ unit: 'grapheme', minLength, maxLength: Math.max(minLength, Math.min(longest, 30)) }),
    fc
      .constantFrom(minLength, longest, longest + (hostility === 0 ? 0 : 1))
      .map((length) => 'é'.repeat(length)),
  );
}

function objects(schema: Schema, making: Making): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties } = schema;
  const members = fc.record(
    Object.fromEntries(
      Object.entries(properties).map(([name, each]) => [name, valuesOf(each, making, name)]),
    ),
    { requiredKeys: required.filter((name) => name in properties) },
  );
  const extra = typeof additionalProperties === 'object' ? additionalProperties : {};
  const names = fc.constantFrom('plan', 'note', ...(making.hostility === 0 ? [] : HOSTILE_NAMES));
  const isMap = additionalProperties !== undefined && additionalProperties !== false;
  const beyond = fc.dictionary(names, valuesOf(extra, making), { maxKeys: 3 });
  if (isMap) return fc.tuple(members, beyond).map(([some, more]) => ({ ...more, ...some }));
  if (making.hostility === 0) return members;
  return fc.oneof(
    { weight: 8, arbitrary: members },
    { weight: 1, arbitrary: fc.tuple(members, beyond).map(([some, more]) => ({ ...more, ...some })) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(members, fc.constantFrom(...Object.keys(properties), 'x'), fc.constantFrom(...LARGE_TEXTS))
        .map(([some, name, large]) => ({ ...some, [name]: large })),
    },
  );
}
