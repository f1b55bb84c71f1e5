import type { z } from 'zod';
import { invalidRequest } from '../problems/problem-error.js';
import { fieldErrors } from './field-errors.js';
import { issueMessage } from './issue-messages.js';

/**
 * The schema's output for some input; throws a 400 that names all that is wrong with it. `root` is how the whole
 * input is called.
 */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  root = '',
): z.output<Schema> {
  const result = schema.safeParse(input, { error: issueMessage });
  if (result.success) return result.data;
  throw invalidRequest(fieldErrors(result.error.issues, root));
}
