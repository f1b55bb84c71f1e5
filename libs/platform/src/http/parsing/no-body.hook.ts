import type { FastifyRequest } from 'fastify';
import { invalidRequest } from '../problems/problem-error.js';
import { WHOLE_BODY } from '../validation/field-errors.js';

/** Refuses what an operation without a body would ignore; nothing at all and `{}` are fine. */
export function refuseUnexpectedBody({ routeOptions, body }: FastifyRequest): void {
  const { operation } = routeOptions.config;
  if (operation === undefined || operation.body !== undefined || operation.streams !== undefined) return;
  if (body === undefined || body === null) return;
  if (typeof body !== 'object' || Array.isArray(body))
    throw invalidRequest({ [WHOLE_BODY]: 'must be an object' });
  const unknown = Object.keys(body).map((name) => [name, 'is not a known field']);
  if (unknown.length > 0) throw invalidRequest(Object.fromEntries(unknown) as Record<string, string>);
}
