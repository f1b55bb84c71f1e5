import type { Schema } from './document.js';
import { resolve } from './schema-fields.js';

const BY_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2026-12-01T09:00:00.000Z',
  date: '2026-12-01',
  uuid: '019aa3b5-7c1e-7d55-9c3e-2f6b8a4d1e90',
};

/** A body that fits `schema`, with its required fields only. */
export function exampleOf(schema: Schema, schemas: Readonly<Record<string, Schema>>): unknown {
  const resolved = resolve(schema, schemas);
  if (resolved.example !== undefined) return resolved.example;
  if (resolved.enum !== undefined) return resolved.enum[0];
  const [option] = resolved.anyOf ?? resolved.oneOf ?? [];
  if (option !== undefined) return exampleOf(option, schemas);
  const [type] = [resolved.type ?? 'object'].flat();
  switch (type) {
    case 'string':
      return BY_FORMAT[resolved.format ?? ''] ?? 'text';
    case 'integer':
    case 'number':
      return resolved.minimum ?? 1;
    case 'boolean':
      return true;
    case 'array':
      return resolved.items === undefined ? [] : [exampleOf(resolved.items, schemas)];
    default:
      return exampleObject(resolved, schemas);
  }
}

function exampleObject(
  { properties = {}, required = [] }: Schema,
  schemas: Readonly<Record<string, Schema>>,
): unknown {
  const names = Object.keys(properties).filter((name) => required.includes(name));
  return Object.fromEntries(names.map((name) => [name, exampleOf(properties[name] ?? {}, schemas)]));
}
