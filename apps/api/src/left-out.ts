import { z } from 'zod';

/** May be left out; null says the same. */
export function leftOut<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** The same, and then it is `byDefault`. */
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
