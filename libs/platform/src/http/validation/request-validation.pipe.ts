import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { z } from 'zod';
import { invalidRequest } from '../problems/problem-error.js';
import { fieldErrors } from './field-errors.js';
import { issueMessage } from './issue-messages.js';

/**
 * Checks what `@Body`, `@Query` and `@Param` name a schema for, and hands the handler the schema's output.
 * All fields that are wrong are reported at once.
 */
export class RequestValidationPipe implements PipeTransform {
  transform(value: unknown, { schema, type, data }: ArgumentMetadata): unknown {
    if (!(schema instanceof z.ZodType)) return value;
    return type === 'body' ? validBody(schema, value) : valid(schema, value, data ?? '');
  }
}

/**
 * The output of `schema` for a body, for handlers that read it themselves. Throws the problem that names
 * every field that is wrong; without a body that is every required one.
 */
export function validBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  return valid(schema, body === undefined && schema instanceof z.ZodObject ? {} : body, '');
}

function valid<Schema extends z.ZodType>(schema: Schema, value: unknown, root: string): z.output<Schema> {
  const result = schema.safeParse(value, { error: issueMessage });
  if (result.success) return result.data;
  throw invalidRequest(fieldErrors(result.error.issues, root));
}
