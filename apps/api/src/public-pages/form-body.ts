import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ProblemError } from '#platform/http';

/** The pages with forms, as routes. Everywhere else a form is no body that we take. */
const FORM_ROUTES: ReadonlySet<string | undefined> = new Set(['/c/:token', '/u/:token', '/p/:token']);
const URL_ENCODED = 'application/x-www-form-urlencoded';
const FORM_TYPES = [URL_ENCODED, 'multipart/form-data'];
const MAX_FORM_BYTES = 8 * 1024;

/**
 * Lets the public pages, and no other route, take forms of up to 8 KB. Call it once, after the HTTP kit has
 * registered its own parsers; for other routes nothing changes.
 */
export function registerFormParsers(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, _reply, done) => {
    if (FORM_ROUTES.has(request.routeOptions.url)) takeForForm(request);
    done();
  });
  fastify.addContentTypeParser(FORM_TYPES, async (request: FastifyRequest, payload: Readable) => {
    if (hasNoBody(request)) return undefined;
    if (!FORM_ROUTES.has(request.routeOptions.url)) throw new ProblemError('unsupported-media-type', REFUSAL);
    return fieldsOf(request.headers['content-type'] ?? '', await readAll(payload));
  });
}

/**
 * Programs that post the one-click pair by hand send it as plain text, or without a type: nobody stays subscribed
 * because of a header.
 */
function takeForForm({ headers }: FastifyRequest): void {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (!FORM_TYPES.some((known) => known === type)) headers['content-type'] = URL_ENCODED;
}

/** The value of a text field of the request's form, null when there is none. */
export function formField(request: FastifyRequest, name: string): string | null {
  return request.body instanceof URLSearchParams ? request.body.get(name) : null;
}

const REFUSAL = { detail: 'Send JSON with Content-Type: application/json.' };

function hasNoBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
}

/** Leaves the connection open when it is too much, so that the refusal arrives. */
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
 * RFC 8058 §3.1 lets a mailbox provider post either type. A form that can't be read counts as one without
 * fields: nobody stays subscribed because of a boundary.
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
