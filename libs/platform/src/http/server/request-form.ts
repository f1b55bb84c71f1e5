import type { Server } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { invalidRequest } from '../problems/problem-error.js';

const SCHEME_AND_AUTHORITY = /^https?:\/\/[^/?#]*/i;

/** The target as path and query, which a client may also send as a whole URL (RFC 9112 §3.2.2). */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const path = target.replace(SCHEME_AND_AUTHORITY, '');
  return path === target || path.startsWith('/') ? path : `/${path}`;
}

/** RFC 9112 §3.2: a request of HTTP/1.1 names its host. */
export function refuseWithoutHost({ raw }: FastifyRequest): void {
  if (raw.httpVersion === '1.1' && raw.headers.host === undefined)
    throw invalidRequest({ Host: 'is required' });
}

/** RFC 9110 §10.1.1 allows it; Node would answer 417 by itself, which were no problem and had no request id. */
export function ignoreUnknownExpectations(server: Server): void {
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}
