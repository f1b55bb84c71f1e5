import type { Schema } from './document.js';

/** A field of a body as a reader sees it. */
export interface Field {
  /** Dotted, as in `errors` of a problem: `consent.source`, `options[].value`. */
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly notes: string;
}

type Schemas = Readonly<Record<string, Schema>>;

const MAX_DEPTH = 4;

/** The schema that a reference leads to. */
export function resolve(schema: Schema, schemas: Schemas): Schema {
  const target =
    schema.$ref === undefined ? undefined : schemas[schema.$ref.replace('#/components/schemas/', '')];
  return target === undefined ? schema : resolve(target, schemas);
}

/** All fields of a body, nested ones under their path. */
export function fieldsOf(schema: Schema, schemas: Schemas, prefix = '', depth = 0): Field[] {
  const { schema: body, suffix } = unwrap(schema, schemas);
  if (suffix !== '' && depth === 0) return fieldsOf(body, schemas, suffix, depth + 1);
  if (depth > MAX_DEPTH) return [];
  return Object.entries(body.properties ?? {}).flatMap(([name, property]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const inner = unwrap(property, schemas);
    const field: Field = {
      name: path,
      type: typeOf(property, schemas),
      isRequired: body.required?.includes(name) ?? false,
      notes: notesOf({ ...inner.schema, ...property }),
    };
    return [field, ...fieldsOf(inner.schema, schemas, path + inner.suffix, depth + 1)];
  });
}

/** The object within a list or a nullable, and how its fields are written. */
function unwrap(schema: Schema, schemas: Schemas): { schema: Schema; suffix: string } {
  const resolved = resolve(schema, schemas);
  const [only, ...others] = alternativesOf(resolved);
  if (only !== undefined && others.length === 0) return unwrap(only, schemas);
  if (resolved.items === undefined) return { schema: resolved, suffix: '' };
  const inner = unwrap(resolved.items, schemas);
  return { schema: inner.schema, suffix: `[]${inner.suffix}` };
}

function alternativesOf({ anyOf, oneOf }: Schema): readonly Schema[] {
  return (anyOf ?? oneOf ?? []).filter((option) => option.type !== 'null');
}

/** In words: `string, date-time or null`. */
export function typeOf(schema: Schema, schemas: Schemas): string {
  const resolved = resolve(schema, schemas);
  const options = resolved.anyOf ?? resolved.oneOf;
  if (options !== undefined) return options.map((option) => typeOf(option, schemas)).join(' or ');
  const types = [resolved.type ?? 'any value'].flat();
  return types.map((type) => nameOf(type, resolved, schemas)).join(' or ');
}

function nameOf(type: string, { format, items }: Schema, schemas: Schemas): string {
  if (type === 'array') return `list of ${items === undefined ? 'any value' : typeOf(items, schemas)}`;
  return format === undefined || type === 'null' ? type : `${type}, ${format}`;
}

function notesOf(schema: Schema): string {
  const values = schema.enum ?? alternativesOf(schema).flatMap((option) => option.enum ?? []);
  const notes = [
    schema.description,
    values.length > 0 ? `One of ${values.map((value) => `\`${String(value)}\``).join(', ')}.` : undefined,
    schema.maxLength === undefined ? undefined : `At most ${schema.maxLength} characters.`,
    schema.minItems === undefined ? undefined : `At least ${schema.minItems}.`,
    schema.maxItems === undefined ? undefined : `At most ${schema.maxItems}.`,
    schema.default === undefined ? undefined : `Default: \`${JSON.stringify(schema.default)}\`.`,
  ];
  return notes.filter((note) => note !== undefined).join(' ');
}
