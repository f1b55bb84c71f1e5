import { z } from 'zod';

/** An optional field; null counts as absent. */
export function leftOut<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** An optional field with a default; null counts as absent. */
export function defaulted<Schema extends z.ZodType>(
  schema: Schema,
  byDefault: z.output<Schema>,
  description: string,
) {
  return schema
    .nullish()
    .transform((value) => value ?? byDefault)
    .meta({ default: byDefault, description });
}
