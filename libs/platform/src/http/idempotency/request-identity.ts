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
    pathDigest: `${request.routeOptions.url ?? ''}#${sha256(decodedPath(request.url)).toString('base64url')}`,
    keyDigest: sha256(key).toString('base64url'),
  };
}

/** What makes two requests the same one: what the body says, and the query, which may carry its options. */
export function requestHash(request: FastifyRequest, bodyHash: Buffer): Buffer {
  const query = new URLSearchParams(request.url.slice(pathOf(request.url).length));
  query.sort();
  return sha256(Buffer.concat([bodyHash, Buffer.from(query.toString())]));
}

/** What JSON says, whatever the order of its members and its spacing. No body at all says the same as `{}`. */
export function meaningOf(json: unknown = {}): string {
  return JSON.stringify(json, (_name, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const members = Object.entries(value);
    return Object.fromEntries(members.sort(([one], [other]) => (one < other ? -1 : 1)));
  });
}

export function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

/** Two spellings of a path are one; a slash inside of a segment stays apart from one between two. */
function decodedPath(url: string): string {
  const segments = pathOf(url).split('/');
  return JSON.stringify(segments.map((segment) => decodeURIComponent(segment)));
}
