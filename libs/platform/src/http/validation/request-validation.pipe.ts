import { Readable } from 'node:stream';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { z } from 'zod';
import { parseInput } from './parse-input.js';

/**
 * Checks what `@Body`, `@Query` and `@Param` name a schema for, and hands the handler the schema's output.
 * All fields that are wrong are reported at once. A body that is streamed is handed on unread: its schema is that
 * of the operation's JSON.
 */
export class RequestValidationPipe implements PipeTransform {
  transform(value: unknown, { schema, type, data }: ArgumentMetadata): unknown {
    if (!(schema instanceof z.ZodType) || (type === 'body' && value instanceof Readable)) return value;
    return type === 'body' ? validBody(schema, value) : parseInput(schema, value, data ?? '');
  }
}

/**
 * The output of `schema` for a body, for handlers that read it themselves. Throws the problem that names
 * every field that is wrong; without a body that is every required one.
 */
export function validBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  return parseInput(schema, body === undefined && schema instanceof z.ZodObject ? {} : body);
}
