import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ProblemError, wrongType } from '#platform/http';

/** The routes of pages with forms. No other route accepts form bodies. */
const FORM_ROUTES: ReadonlySet<string | undefined> = new Set(['/c/:token', '/u/:token', '/p/:token']);
const URL_ENCODED = 'application/x-www-form-urlencoded';
const FORM_TYPES = [URL_ENCODED, 'multipart/form-data'];
const MAX_FORM_BYTES = 8 * 1024;

/**
 * Lets the public pages, and no other route, accept forms of up to 8 KB. Call it once, after the HTTP kit has
 * registered its own parsers.
 */
export function registerFormParsers(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, _reply, done) => {
    if (FORM_ROUTES.has(request.routeOptions.url)) takeForForm(request);
    done();
  });
  fastify.addContentTypeParser(FORM_TYPES, async (request: FastifyRequest, payload: Readable) => {
    if (hasNoBody(request)) return undefined;
    if (!FORM_ROUTES.has(request.routeOptions.url)) throw wrongType(request);
    return fieldsOf(request.headers['content-type'] ?? '', await readAll(payload));
  });
}

/**
 * Accepts the one-click form as plain text or without a type, as some programs post it, so that nobody stays
 * subscribed because of a header.
 */
function takeForForm({ headers }: FastifyRequest): void {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (!FORM_TYPES.some((known) => known === type)) headers['content-type'] = URL_ENCODED;
}

/** The value of a field of the request's form, or null. */
export function formField(request: FastifyRequest, name: string): string | null {
  return request.body instanceof URLSearchParams ? request.body.get(name) : null;
}

function hasNoBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
}

/** Leaves the connection open when the body is too large, so that the client gets the refusal. */
async function readAll(payload: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_FORM_BYTES) throw new ProblemError('payload-too-large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * RFC 8058 §3.1 lets mailbox providers post either type. An unreadable form counts as a form without fields, so that
 * nobody stays subscribed because of a boundary.
 */
async function fieldsOf(contentType: string, body: Buffer): Promise<URLSearchParams> {
  const fields = new URLSearchParams();
  try {
    const form = await new Response(new Uint8Array(body), {
      headers: { 'content-type': contentType },
    }).formData();
    for (const [name, value] of form) if (typeof value === 'string') fields.append(name, value);
  } catch {
    return new URLSearchParams();
  }
  return fields;
}

const MAX_USER_AGENT = 500;

/** The visitor of a page, for the consent record. */
interface Visitor {
  readonly ipAddress: string;
  readonly userAgent: string | null;
}

export function visitorOf(request: FastifyRequest): Visitor {
  return {
    ipAddress: request.clientAddress,
    userAgent: request.headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null,
  };
}
