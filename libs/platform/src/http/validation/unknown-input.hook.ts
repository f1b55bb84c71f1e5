import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { OperationOptions } from '../operation/operation-options.js';
import { invalidRequest } from '../problems/problem-error.js';
import { WHOLE_BODY } from './field-errors.js';
import { inputErrors } from './parse-input.js';

const UNKNOWN = 'is not a known field';

/**
 * Refuses what an operation would ignore: parameters of the query that it does not know, and a body where it takes
 * none; nothing at all and `{}` are fine. What else is wrong with the same request is told with it.
 */
export function refuseUnknownInput({ routeOptions, query, body }: FastifyRequest): void {
  const { operation } = routeOptions.config;
  if (operation === undefined) return;
  const inBody = unexpectedBody(operation, body);
  const inQuery = unknownNames(query, operation.query?.shape);
  if (inBody.length === 0 && inQuery.length === 0) return;
  throw invalidRequest({
    ...inputErrors(operation.query, query),
    ...(body instanceof Readable ? {} : inputErrors(operation.body, body ?? {})),
    ...Object.fromEntries([...inBody, ...inQuery]),
  });
}

type Fault = readonly [field: string, fault: string];

function unexpectedBody(operation: OperationOptions, body: unknown): readonly Fault[] {
  if (operation.body !== undefined || operation.streams !== undefined) return [];
  if (body === undefined || body === null) return [];
  if (typeof body !== 'object' || Array.isArray(body)) return [[WHOLE_BODY, 'must be an object']];
  return unknownNames(body, {});
}

function unknownNames(given: unknown, known: z.core.$ZodLooseShape = {}): readonly Fault[] {
  const names = Object.keys(given ?? {});
  return names.filter((name) => !Object.hasOwn(known, name)).map((name) => [name, UNKNOWN]);
}
