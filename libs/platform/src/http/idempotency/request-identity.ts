import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { AuthenticatedCaller } from '../authentication/authenticated-caller.js';
import { pathOf } from '../problems/problem-writer.js';
import type { IdempotentRequest } from './idempotency-keys.query.js';

const FORM = /^[\x20-\x7e]{1,255}$/;

/** Whether `key` is 1–255 printable ASCII characters. */
export function isIdempotencyKey(key: string): boolean {
  return FORM.test(key);
}

/** Which stored row is this request's. */
export function identityOf(
  request: FastifyRequest,
  caller: AuthenticatedCaller,
  key: string,
): IdempotentRequest {
  return {
    scope: caller.scope,
    apiKeyId: caller.keyId,
    method: request.method,
    pathDigest: `${request.routeOptions.url ?? ''}#${sha256(pathOf(request.url)).toString('base64url')}`,
    keyDigest: sha256(key).toString('base64url'),
  };
}

/** What makes two requests the same one: the bytes of the body, and the query, which may carry its options. */
export function requestHash(request: FastifyRequest, bodyHash: Buffer): Buffer {
  const query = request.url.slice(pathOf(request.url).length);
  return sha256(Buffer.concat([bodyHash, Buffer.from(query)]));
}

export function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}
