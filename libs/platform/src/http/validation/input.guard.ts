import { Readable } from 'node:stream';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { OperationOptions } from '../operation/operation-options.js';
import { invalidRequest, ProblemError } from '../problems/problem-error.js';
import { accepts } from './accept.js';
import { WHOLE_BODY } from './field-errors.js';
import { inputErrors } from './parse-input.js';

const UNKNOWN = 'is not a known field';

/** Refuses an answer that is not wanted, a body that could not be read, and input that would be ignored. */
@Injectable()
export class InputGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { operation } = request.routeOptions.config;
    if (operation !== undefined) refuseUnacceptable(operation, request);
    if (request.bodyFault !== null) throw request.bodyFault;
    if (operation !== undefined) refuseUnknownInput(operation, request);
    return true;
  }
}

function refuseUnacceptable({ response }: OperationOptions, { headers }: FastifyRequest): void {
  const produced = response.schema === undefined ? response.contentType?.split(';')[0] : 'application/json';
  if (produced === undefined || accepts(headers.accept, produced)) return;
  throw new ProblemError('not-acceptable', { detail: `This operation answers in ${produced}.` });
}

/**
 * Refuses what an operation would ignore: parameters of the query that it does not know, and a body where it takes
 * none; nothing at all and `{}` are fine. What else is wrong with the same request is told with it.
 */
function refuseUnknownInput(operation: OperationOptions, { query, body }: FastifyRequest): void {
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
