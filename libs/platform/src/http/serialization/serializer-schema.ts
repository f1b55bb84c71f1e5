import { z } from 'zod';

/** A JSON schema in the dialect of fast-json-stringify: draft 7 with `nullable`, without references. */
export type SerializerSchema = Readonly<Record<string, unknown>>;

type Definitions = Readonly<Record<string, SerializerSchema>>;

/**
 * How Fastify writes an answer of `schema`: known keys only, and an error when a required one is undefined,
 * so that a nullable property that a view forgot is found by the first test.
 */
export function serializerSchema(schema: z.ZodType): SerializerSchema {
  const { $defs, ...root } = z.toJSONSchema(schema, {
    io: 'output',
    target: 'draft-2020-12',
    unrepresentable: 'any',
  });
  return simplify(root, $defs ?? {});
}

function simplify(node: SerializerSchema, definitions: Definitions): SerializerSchema {
  const reference = node['$ref'];
  if (typeof reference === 'string')
    return simplify(definitions[reference.replace('#/$defs/', '')] ?? {}, definitions);
  if (Array.isArray(node['anyOf'])) return alternatives(node['anyOf'] as SerializerSchema[], definitions);
  if (Array.isArray(node['type'])) return nullableType(node, node['type'] as string[], definitions);
  switch (node['type']) {
    case 'object':
      return objectSchema(node, definitions);
    case 'array':
      return { type: 'array', items: simplify((node['items'] ?? {}) as SerializerSchema, definitions) };
    case 'string':
    case 'integer':
    case 'number':
    case 'boolean':
    case 'null':
      return { type: node['type'] };
    default:
      return {};
  }
}

/** `X | null` keeps its shape; other unions are written as they are. */
function alternatives(options: readonly SerializerSchema[], definitions: Definitions): SerializerSchema {
  const [only, ...others] = options.filter((option) => option['type'] !== 'null');
  if (only === undefined || others.length > 0) return {};
  const schema = simplify(only, definitions);
  return options.length === 1 || !('type' in schema) ? schema : { ...schema, nullable: true };
}

function nullableType(
  node: SerializerSchema,
  types: readonly string[],
  definitions: Definitions,
): SerializerSchema {
  const [only, ...others] = types.filter((type) => type !== 'null');
  if (only === undefined || others.length > 0) return {};
  return { ...simplify({ ...node, type: only }, definitions), nullable: true };
}

function objectSchema(node: SerializerSchema, definitions: Definitions): SerializerSchema {
  const properties = Object.entries((node['properties'] ?? {}) as Definitions);
  const additional = node['additionalProperties'];
  return {
    type: 'object',
    properties: Object.fromEntries(properties.map(([name, schema]) => [name, simplify(schema, definitions)])),
    required: node['required'] ?? [],
    ...(typeof additional === 'object' && additional !== null
      ? { additionalProperties: simplify(additional as SerializerSchema, definitions) }
      : {}),
  };
}
