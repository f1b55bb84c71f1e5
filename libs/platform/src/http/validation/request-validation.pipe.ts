import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { z } from 'zod';
import { logContext } from '../../logging/request-context.js';
import { invalidRequest } from '../problems/problem-error.js';
import { parseInput, readInput } from './parse-input.js';

/**
 * Checks what `@Body`, `@Query` and `@Param` name a schema for, and hands the handler the schema's output.
 * All fields that are wrong are reported at once, be they of the path, the query or the body. A body that is
 * streamed is handed on unread: its schema is that of the operation's JSON.
 */
export class RequestValidationPipe implements PipeTransform {
  /** By the context that all parts of one request have in common. */
  readonly #errors = new WeakMap<object, Record<string, string>>();

  transform(value: unknown, { schema, type, data }: ArgumentMetadata): unknown {
    if (!(schema instanceof z.ZodType) || (type === 'body' && value instanceof Readable)) return value;
    const result =
      type === 'body' ? readInput(schema, orEmpty(schema, value)) : readInput(schema, value, data ?? '');
    return 'data' in result ? result.data : this.#refuse(result.errors);
  }

  /** Waits for the other parts: Nest starts the pipes of all of them in the same turn. */
  async #refuse(errors: Record<string, string>): Promise<never> {
    const request = logContext.getStore();
    const all = request === undefined ? errors : { ...this.#errors.get(request), ...errors };
    if (request !== undefined) this.#errors.set(request, all);
    await nextTurn();
    throw invalidRequest((request && this.#errors.get(request)) ?? all);
  }
}

/**
 * The output of `schema` for a body, for handlers that read it themselves. Throws the problem that names
 * every field that is wrong; without a body that is every required one.
 */
export function validBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  return parseInput(schema, orEmpty(schema, body));
}

function orEmpty(schema: z.ZodType, body: unknown): unknown {
  return body === undefined && schema instanceof z.ZodObject ? {} : body;
}
