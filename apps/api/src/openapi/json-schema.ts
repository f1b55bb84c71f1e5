import { z } from 'zod';

type JsonSchema = Record<string, unknown>;

/** Formats that explain more to a reader than the patterns that check them. */
const FORMATS_WITHOUT_PATTERN = new Set(['date-time', 'date', 'uuid']);

/** Converts a zod schema to the JSON schema of OpenAPI 3.1; a schema with a `meta.id` becomes a component. */
export function toOpenApiSchema(
  schema: unknown,
  { schemaType }: { readonly schemaType: 'input' | 'output' },
): { schema: JsonSchema; components: Record<string, JsonSchema> } | undefined {
  if (!(schema instanceof z.ZodType)) return undefined;
  const {
    $defs,
    $schema: _dialect,
    ...root
  } = z.toJSONSchema(schema, {
    io: schemaType,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      shorten(jsonSchema);
      // zod omits the default of a transformed field.
      if (zodSchema instanceof z.ZodDefault) jsonSchema.default = zodSchema.def.defaultValue;
      // What a field without one of its own takes for granted.
      const taken = z.globalRegistry.get(zodSchema)?.['default'];
      if (taken !== undefined) jsonSchema.default = taken;
      // Answers may get new properties at any time.
      if (schemaType === 'output' && jsonSchema.additionalProperties === false)
        delete jsonSchema.additionalProperties;
    },
  });
  return { schema: root, components: $defs ?? {} };
}

function shorten(jsonSchema: JsonSchema): void {
  if (FORMATS_WITHOUT_PATTERN.has(String(jsonSchema['format']))) delete jsonSchema['pattern'];
  if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum'];
  if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum'];
  const { propertyNames } = jsonSchema;
  if (typeof propertyNames === 'object' && JSON.stringify(propertyNames) === '{"type":"string"}')
    delete jsonSchema['propertyNames'];
}
