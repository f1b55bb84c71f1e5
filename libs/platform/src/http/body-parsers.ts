import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidRequest, ProblemError } from './operation/problem.js';

/** RFC 8259 and RFC 6839 §3.1: JSON itself and what is written in it. */
const JSON_TYPES = /^application\/(?:[\w.!#$&^-]+\+)?json(?:\s*;|$)/i;
const PLAIN_TEXT = /^text\/plain(?:\s*;|$)/i;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** JSON and plain text come as `rawBody`, of at most 1 MB, and are not parsed: a signature is over their octets. */
    rawBody?: true;
  }
}

/**
 * Reads JSON wherever no file is wanted, the streams that an operation takes, and plain text where a route wants octets. All else is a 415,
 * unless there is nothing to read.
 */
export function registerBodyParsers(fastify: FastifyInstance): void {
  const parseJson = fastify.getDefaultJsonParser('error', 'error');
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser<Buffer>(JSON_TYPES, { parseAs: 'buffer' }, (request, body, next) => {
    const done = keepingFault(request, next);
    if (isEncoded(request)) return done(compressed());
    if (body.length > 0 && !takesJson(request)) return done(wrongType(request));
    request.rawBody = body;
    if (body.length === 0 || isRaw(request)) return done(null, undefined);
    try {
      const text = utf8.decode(body);
      void parseJson(request, text, (error, value) =>
        error === null ? done(null, restored(request, value)) : done(refusal(text)),
      );
    } catch {
      done(malformed());
    }
  });
  fastify.addContentTypeParser<Buffer>(PLAIN_TEXT, { parseAs: 'buffer' }, (request, body, next) => {
    const done = keepingFault(request, next);
    const isTaken = isRaw(request) && !isEncoded(request);
    if (isTaken) request.rawBody = body;
    done(isTaken || body.length === 0 ? null : wrongType(request));
  });
  fastify.addContentTypeParser('*', (request, payload, next) => {
    const done = keepingFault(request, next);
    const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
    const isTaken = streamsOf(request).includes(type);
    // An empty stream is one, too: what it lacks is for its reader to say.
    if (!isTaken && isEmpty(request)) return done(null, undefined);
    if (isTaken && isEncoded(request)) return done(compressed(), payload);
    done(isTaken ? null : wrongType(request), payload);
  });
}

/** The body with its large texts. @throws where one of them is no JSON */
function restored(request: FastifyRequest, body: unknown): unknown {
  const { largeTexts } = request;
  request.largeTexts = null;
  return largeTexts === null ? body : largeTexts.restored(body);
}

function keepingFault(request: FastifyRequest, done: (error: null, body?: unknown) => void) {
  return (fault: ProblemError | null, body?: unknown): void => {
    request.bodyFault = fault;
    done(null, body);
  };
}

/** Refusal of a text that the parser refused: it is no JSON, or names a prototype, which is no field of ours. */
function refusal(text: string): ProblemError {
  const foreign = prototypeMembers(parsed(text));
  if (foreign.length === 0) return malformed();
  return invalidRequest(Object.fromEntries(foreign.map((path) => [path, 'is not a known field'])));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function malformed(): ProblemError {
  return new ProblemError('malformed-json', { detail: 'The body is not JSON in UTF-8.' });
}

/** Refusal of a body of a type that the operation does not take. */
export function wrongType(request: FastifyRequest): ProblemError {
  const json = takesJson(request) ? ['JSON with Content-Type: application/json'] : [];
  const types = [...json, ...streamsOf(request)];
  return unsupported(`Send ${types.join(', or ')}.`);
}

function compressed(): ProblemError {
  return unsupported('A compressed body is not supported.');
}

/** False where an operation takes files alone. */
function takesJson({ routeOptions: { config } }: FastifyRequest): boolean {
  return config.operation?.streams === undefined || config.operation.body !== undefined;
}

function streamsOf({ routeOptions }: FastifyRequest): readonly string[] {
  return routeOptions.config.operation?.streams ?? [];
}

function unsupported(detail: string): ProblemError {
  return new ProblemError('unsupported-media-type', { detail });
}

function isEmpty({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
}

function isRaw({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.rawBody === true;
}

function isEncoded({ headers }: FastifyRequest): boolean {
  return (headers['content-encoding'] ?? 'identity').trim().toLowerCase() !== 'identity';
}

/** Dotted paths of the members that stand for an object's prototype in JavaScript. */
export function prototypeMembers(json: unknown): string[] {
  const found: string[] = [];
  const open: { readonly value: unknown; readonly path: string }[] = [{ value: json, path: '' }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path } = next;
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, inner] of Object.entries(value)) {
      const at = memberPath(path, name, Array.isArray(value));
      if (isPrototype(name, inner)) found.push(at);
      else open.push({ value: inner, path: at });
    }
  }
  return found;
}

function isPrototype(name: string, value: unknown): boolean {
  if (name === '__proto__') return true;
  const isObject = typeof value === 'object' && value !== null;
  return name === 'constructor' && isObject && Object.hasOwn(value, 'prototype');
}

/** The path of a member: `options[0].value`. */
export function memberPath(parent: string, name: string, isIndex: boolean): string {
  if (isIndex) return `${parent}[${name}]`;
  return parent === '' ? name : `${parent}.${name}`;
}
