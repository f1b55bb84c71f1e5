import type { z } from 'zod';
import { invalidRequest } from '../problems/problem-error.js';
import { fieldErrors } from './field-errors.js';
import { issueMessage } from './issue-messages.js';

/** The schema's output for some input, or all that is wrong with it. `root` is how the whole input is called. */
export function readInput<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  root = '',
): { readonly data: z.output<Schema> } | { readonly errors: Record<string, string> } {
  const result = schema.safeParse(input, { error: issueMessage });
  return result.success ? { data: result.data } : { errors: fieldErrors(result.error.issues, root) };
}

/** All that is wrong with some input; nothing where there is no schema. */
export function inputErrors(schema: z.ZodType | undefined, input: unknown): Record<string, string> {
  if (schema === undefined) return {};
  const result = readInput(schema, input);
  return 'errors' in result ? result.errors : {};
}

/** The schema's output for some input; throws a 400 that names all that is wrong with it. */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  root = '',
): z.output<Schema> {
  const result = readInput(schema, input, root);
  if ('data' in result) return result.data;
  throw invalidRequest(result.errors);
}
