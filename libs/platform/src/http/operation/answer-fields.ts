import { z } from 'zod';
import { DomainValidationError } from '#kernel';
import type { OperationOptions } from './operation.decorator.js';

/** Query parameter of every operation that reads JSON. */
export const FIELDS_PARAMETER = {
  name: 'fields',
  in: 'query',
  required: false,
  description:
    'Only these properties, separated by commas, with dots for those inside others: `email,customFields.plan`. Through an array a ' +
    'path leads to each of its items; in a page it begins at an item, and `pagination` stays. The answer then lacks what its ' +
    'schema requires and `fields` does not name. An unknown property is a 422.',
  schema: { type: 'string', minLength: 1 },
} as const;

/** True for operations with `FIELDS_PARAMETER`: they read, and answer in JSON. */
export function takesFields(method: string, { response }: OperationOptions): boolean {
  return method.toLowerCase() === 'get' && (response.schema ?? response.streamed) !== undefined;
}

/** Properties to keep, each with those below it; null for a property that is kept whole. */
type Selection = Map<string, Selection | null>;

/** The parts of a JSON schema that say which properties a value can have. */
interface Shape {
  readonly $ref?: string;
  readonly anyOf?: readonly Shape[];
  readonly oneOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly additionalProperties?: boolean | Shape;
  readonly $defs?: Readonly<Record<string, Shape>>;
}

const shapes = new WeakMap<z.ZodType, Shape>();

/**
 * Function that leaves of an answer of `schema`, as it is sent, what the comma-separated paths of `fields` name. Throws the 422 that
 * names unknown ones.
 */
export function fieldsSelector(schema: z.ZodType, fields: string): (answer: unknown) => unknown {
  const root = shapeOf(schema);
  const { properties = {} } = root.$ref === undefined ? root : definition(root.$ref, root);
  const item = properties['pagination'] === undefined ? undefined : properties['data'];
  const selection: Selection = new Map();
  const unknown = new Set<string>();
  for (const name of fields.split(',').map((text) => text.trim())) {
    const path = name.split('.');
    if (item !== undefined && leads(item, path, root)) add(selection, ['data', ...path]);
    else if (leads(root, path, root)) add(selection, path);
    else unknown.add(name);
  }
  if (unknown.size > 0) throw new DomainValidationError({ fields: faultOf([...unknown]) });
  if (item !== undefined && !selection.has('pagination')) selection.set('pagination', null);
  return (answer) => pick(answer, selection);
}

function shapeOf(schema: z.ZodType): Shape {
  const known = shapes.get(schema);
  if (known !== undefined) return known;
  const shape = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }) as Shape;
  shapes.set(schema, shape);
  return shape;
}

/** True if a value of `shape` can have something at `path`. */
function leads(shape: Shape, path: readonly string[], root: Shape): boolean {
  const [name, ...rest] = path;
  if (name === undefined) return true;
  if (shape.$ref !== undefined) return leads(definition(shape.$ref, root), path, root);
  const options = shape.anyOf ?? shape.oneOf;
  if (options !== undefined) return options.some((option) => leads(option, path, root));
  if (shape.items !== undefined) return leads(shape.items, path, root);
  const { properties = {}, additionalProperties: others = false } = shape;
  if (Object.hasOwn(properties, name)) return leads(properties[name]!, rest, root);
  if (name === '' || others === false) return false;
  // A schema without any keyword, or `true`: free JSON, whose own properties nobody knows beforehand.
  return others === true || Object.keys(others).length === 0 || leads(others, rest, root);
}

function definition(reference: string, root: Shape): Shape {
  return root.$defs?.[reference.replace('#/$defs/', '')] ?? {};
}

function add(selection: Selection, [name = '', ...rest]: readonly string[]): void {
  const below = selection.get(name);
  if (below === null) return;
  if (rest.length === 0) selection.set(name, null);
  else {
    const next: Selection = below ?? new Map();
    selection.set(name, next);
    add(next, rest);
  }
}

function pick(value: unknown, selection: Selection): unknown {
  if (Array.isArray(value)) return value.map((item) => pick(item, selection));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => selection.has(name));
  return Object.fromEntries(
    kept.map(([name, content]) => {
      const below = selection.get(name) ?? null;
      return [name, below === null ? content : pick(content, below)];
    }),
  );
}

function faultOf(unknown: readonly string[]): string {
  const names = unknown.map((name) => JSON.stringify(name)).join(', ');
  return unknown.length === 1
    ? `${names} is not a field of the answer`
    : `${names} are not fields of the answer`;
}
