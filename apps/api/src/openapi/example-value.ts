import { resolve, type Schema } from './document.js';
import { EXAMPLE_VALUES } from './example-values.js';

type Schemas = Readonly<Record<string, Schema>>;

/** The fields of an object that an example has. */
export type Fields = 'required' | 'all';

const BY_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2026-12-01T09:00:00.000Z',
  date: '2026-12-01',
  uuid: '019aa3b5-7c1e-7d55-9c3e-2f6b8a4d1e90',
  uri: 'https://example.com/',
};

/** A value that fits `schema`; `name` is the name of the field, if any. */
export function exampleOf(schema: Schema, schemas: Schemas, fields: Fields = 'required', name = ''): unknown {
  const resolved = resolve(schema, schemas);
  if (resolved.example !== undefined) return resolved.example;
  if (resolved.enum !== undefined) return resolved.enum[0];
  const options = resolved.anyOf ?? resolved.oneOf ?? [];
  const option = options.find(({ type }) => type !== 'null') ?? options[0];
  if (option !== undefined) return exampleOf(option, schemas, fields, name);
  const types = [resolved.type ?? 'object'].flat();
  const type = types.find((candidate) => candidate !== 'null') ?? 'null';
  const known = EXAMPLE_VALUES[name];
  return known !== undefined && fits(known, type, resolved) ? known : ofType(type, resolved, schemas, fields);
}

function ofType(type: string, schema: Schema, schemas: Schemas, fields: Fields): unknown {
  switch (type) {
    case 'string':
      return BY_FORMAT[schema.format ?? ''] ?? 'text';
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array':
      return schema.items === undefined ? [] : [exampleOf(schema.items, schemas, fields)];
    default:
      return exampleObject(schema, schemas, fields);
  }
}

function exampleObject(
  { properties = {}, required = [], additionalProperties }: Schema,
  schemas: Schemas,
  fields: Fields,
): unknown {
  // Of an object by locale, of which there are translations alone.
  if (typeof additionalProperties === 'object' && additionalProperties.properties !== undefined)
    return { de: exampleOf(additionalProperties, schemas, 'all') };
  const names = Object.keys(properties).filter((name) => fields === 'all' || required.includes(name));
  return Object.fromEntries(
    names.map((name) => [name, exampleOf(properties[name] ?? {}, schemas, fields, name)]),
  );
}

function fits(
  value: unknown,
  type: string,
  { format, pattern, maxLength = Infinity, items }: Schema,
): boolean {
  if (type === 'array') return Array.isArray(value) && items?.type === 'string';
  if (type === 'object') return typeof value === 'object' && !Array.isArray(value);
  if (type === 'integer' || type === 'number') return typeof value === 'number';
  if (typeof value !== 'string' || type !== 'string') return typeof value === type;
  if (format === 'uuid') return value === BY_FORMAT['uuid'];
  if (format === 'date-time' || format === 'date') return false;
  return value.length <= maxLength && (pattern === undefined || new RegExp(pattern).test(value));
}
