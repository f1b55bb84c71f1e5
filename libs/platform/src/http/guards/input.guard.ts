import { Readable } from 'node:stream';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { FIELDS_PARAMETER, takesFields } from '../operation/answer-fields.js';
import type { OperationOptions } from '../operation/operation.decorator.js';
import { invalidRequest, ProblemError } from '../operation/problem.js';
import { inputErrors, queryErrors, storedTextFault, WHOLE_BODY } from '../operation/validation.js';

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
  const isJson = (response.schema ?? response.streamed) !== undefined;
  const produced = isJson ? 'application/json' : response.contentType?.split(';')[0];
  if (produced === undefined || accepts(headers.accept, produced)) return;
  throw new ProblemError('not-acceptable', { detail: `This operation answers in ${produced}.` });
}

/**
 * Refuses input that would be ignored, unknown query parameters and a body where none is taken, and parameters that no text can
 * equal, with all other errors.
 */
function refuseUnknownInput(operation: OperationOptions, { method, query, body }: FastifyRequest): void {
  const inBody = unexpectedBody(operation, body);
  const inQuery = unknownNames(query, operation.query?.shape).flatMap((fault) =>
    fault[0] === FIELDS_PARAMETER.name && takesFields(method, operation) ? fieldsFault(query) : [fault],
  );
  const faults = [...inBody, ...textFaults(query), ...inQuery];
  if (faults.length === 0) return;
  throw invalidRequest({
    ...queryErrors(operation.query, query),
    ...(body instanceof Readable ? {} : inputErrors(operation.body, body ?? {})),
    ...Object.fromEntries(faults),
  });
}

/** Faults of parameters that no stored text can equal. */
function textFaults(query: unknown): readonly Fault[] {
  const given = Object.entries(query ?? {}) as [string, string | string[]][];
  return given.flatMap(([name, text]) => {
    const fault = [text]
      .flat()
      .map(storedTextFault)
      .find((one) => one !== null);
    return fault === undefined ? [] : [[name, fault] as const];
  });
}

type Fault = readonly [field: string, fault: string];

/** Names of fields are looked at when there is an answer; 404 comes before 422. */
function fieldsFault(query: unknown): readonly Fault[] {
  const { fields } = query as { readonly fields?: unknown };
  if (typeof fields !== 'string')
    return [[FIELDS_PARAMETER.name, 'must be given once, with commas between names']];
  return fields === '' ? [[FIELDS_PARAMETER.name, 'must not be empty']] : [];
}

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

/** True if an `Accept` header admits `mediaType` (RFC 9110 §12.5.1). No header, or one without a media range, admits all. */
export function accepts(header: string | undefined, mediaType: string): boolean {
  const ranges = (header ?? '').split(',').flatMap(parseRange);
  if (ranges.length === 0) return true;
  const [type] = mediaType.split('/');
  // The most specific range that fits decides.
  for (const candidate of [mediaType, `${type}/*`, '*/*']) {
    const fitting = ranges.filter((range) => range.name === candidate);
    if (fitting.length > 0) return fitting.some(({ quality }) => quality > 0);
  }
  return false;
}

function parseRange(text: string): { name: string; quality: number }[] {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  if (!name.includes('/')) return [];
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  const quality = weight === undefined ? 1 : Number(weight);
  return [{ name, quality: Number.isNaN(quality) ? 1 : quality }];
}
