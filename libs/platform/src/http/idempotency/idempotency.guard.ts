import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { describeError } from '../../logging/redact.js';
import type { AuthenticatedCaller } from '../authentication/authenticated-caller.js';
import { hashedStream } from '../parsing/hashed-stream.js';
import { invalidRequest, ProblemError } from '../problems/problem-error.js';
import { type Acquisition, type IdempotencyKeysQuery, UNKNOWN_HASH } from './idempotency-keys.query.js';
import { identityOf, isIdempotencyKey, meaningOf, requestHash, sha256 } from './request-identity.js';
import { RunningRequest } from './running-request.js';
import { AnswerSeal, type MasterKeys, type StoredAnswer } from './sealed-answer.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while a request runs under an idempotency key. */
    idempotentRun: RunningRequest | null;
  }
}

const KEPT_HEADERS = ['location', 'content-type'] as const;
const NOT_KEPT = new Set([400, 401, 403, 429]);

/** `Idempotency-Key` on POST: the first request runs, each repetition gets its answer. */
export class IdempotencyGuard implements CanActivate {
  constructor(
    private readonly keys: IdempotencyKeysQuery,
    private readonly masterKeys: MasterKeys,
    private readonly logger: Logger,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const key = request.headers['idempotency-key'];
    const { caller } = request;
    if (key === undefined || caller === null || request.method !== 'POST') return true;
    if (typeof key !== 'string' || !isIdempotencyKey(key)) {
      throw invalidRequest({ 'Idempotency-Key': 'must be 1 to 255 printable ASCII characters' });
    }
    return this.#take(request, caller, key, http.getResponse());
  }

  /** The request took too long while its handler goes on. */
  timedOut(request: FastifyRequest): void {
    request.idempotentRun?.outlive();
    request.idempotentRun = null;
  }

  /** Before the answer leaves: keeps it, or frees the key. Losing the store loses no answer. */
  async end(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<void> {
    const run = request.idempotentRun;
    if (run === null) return;
    request.idempotentRun = null;
    try {
      const hash = await arrivedHash(request, run.requestHash);
      const body = bodyText(payload);
      if (hash === null || body === null || NOT_KEPT.has(reply.statusCode) || reply.statusCode >= 500)
        await run.release();
      else await run.complete(hash, { status: reply.statusCode, headers: keptHeaders(reply), body });
    } catch (error) {
      this.logger.warn(
        { requestId: request.id, error: describeError(error) },
        'idempotent answer was not stored',
      );
    }
  }

  /** Takes the key, answers from the store, or refuses. False: Nest's own refusal finds the request answered. */
  async #take(
    request: FastifyRequest,
    caller: AuthenticatedCaller,
    key: string,
    reply: FastifyReply,
  ): Promise<boolean> {
    hashStream(request);
    const seal = new AnswerSeal(this.masterKeys, caller.keyId, key);
    const known = knownHash(request);
    const acquired = await this.keys.acquire(identityOf(request, caller, key), known);
    if (acquired.kind === 'acquired') {
      // It ran out of time meanwhile: its handler does not run, and nobody would end its run.
      if (reply.sent) {
        await this.keys.release(acquired.lease);
        return false;
      }
      request.idempotentRun = new RunningRequest(this.keys, seal, acquired.lease, known);
      return true;
    }
    const hash = acquired.kind === 'answered' ? await completeHash(request, known) : known;
    refuseAnother(acquired, hash);
    if (acquired.kind === 'running') throw new ProblemError('idempotency-in-flight');
    await replay(reply, seal.open(acquired.sealedAnswer));
    return false;
  }
}

function refuseAnother({ bodyHash }: Exclude<Acquisition, { kind: 'acquired' }>, hash: Buffer): void {
  const isComparable = bodyHash.length > 0 && hash.length > 0;
  if (isComparable && !bodyHash.equals(hash)) throw new ProblemError('idempotency-key-reused');
}

async function replay(reply: FastifyReply, answer: StoredAnswer): Promise<void> {
  await reply
    .code(answer.status)
    .headers({ ...answer.headers, 'idempotency-replayed': 'true' })
    // Bytes, since Fastify would add a charset to text; an empty body must not become one of 204.
    .send(answer.body === '' ? undefined : Buffer.from(answer.body));
}

function hashStream(request: FastifyRequest): void {
  if (!(request.body instanceof Readable)) return;
  const { stream, hash } = hashedStream(request.body);
  request.body = stream;
  request.bodyHash = hash;
}

function knownHash(request: FastifyRequest): Buffer {
  if (request.bodyHash !== null) return UNKNOWN_HASH;
  return requestHash(request, sha256(bodyMeaning(request)));
}

/** JSON that is nested too deeply to be written again is compared as it came; no operation takes it. */
function bodyMeaning({ body, rawBody }: FastifyRequest): string | Buffer {
  try {
    return meaningOf(body);
  } catch (error) {
    if (error instanceof RangeError && rawBody !== null) return rawBody;
    throw error;
  }
}

/** Reads a streamed body to its end, since only then it can be compared. */
async function completeHash(request: FastifyRequest, known: Buffer): Promise<Buffer> {
  if (request.bodyHash === null) return known;
  (request.body as NodeJS.ReadableStream).resume();
  return requestHash(request, await request.bodyHash);
}

/** Null when the handler has answered without reading the whole body. */
async function arrivedHash(request: FastifyRequest, known: Buffer): Promise<Buffer | null> {
  if (request.bodyHash === null) return known;
  const hash = await Promise.race([request.bodyHash, nextTurn(null)]);
  return hash === null ? null : requestHash(request, hash);
}

/** Null for a stream, which is not kept. */
function bodyText(payload: unknown): string | null {
  if (payload === undefined || payload === null) return '';
  if (typeof payload === 'string') return payload;
  return Buffer.isBuffer(payload) ? payload.toString('utf8') : null;
}

function keptHeaders(reply: FastifyReply): Record<string, string> {
  const kept = KEPT_HEADERS.flatMap((name) => {
    const value = reply.getHeader(name);
    return value === undefined ? [] : [[name, String(value)] as const];
  });
  return Object.fromEntries(kept);
}
