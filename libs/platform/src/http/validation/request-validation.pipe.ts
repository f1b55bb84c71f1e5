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
    const input = type === 'body' && value === undefined ? missingBody(schema) : value;
    const result = schema.safeParse(input, { error: issueMessage });
    if (result.success) return result.data;
    throw invalidRequest(fieldErrors(result.error.issues, type === 'body' ? '' : (data ?? '')));
  }
}

/** Without a body every required field is missing, and each is named; a body without required ones is empty. */
function missingBody(schema: z.ZodType): unknown {
  return schema instanceof z.ZodObject ? {} : undefined;
}
