import { createHash } from 'node:crypto';
import { pipeline, Readable, Transform } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RepeatableRequest } from '#kernel';
import type { Logger } from 'pino';
import { describeError } from '../../logger.js';
import { CONFIG, LOGGER } from '../../platform.module.js';
import type { AuthenticatedCaller } from '../operation/caller.js';
import { pathOf } from '../operation/problem.filter.js';
import { invalidRequest, ProblemError } from '../operation/problem.js';
import {
  type Acquisition,
  AnswerSeal,
  IdempotencyKeyRepository,
  type IdempotentRequest,
  isTakenOver,
  type Lease,
  type MasterKeys,
  type StoredAnswer,
  UNKNOWN_HASH,
} from './idempotency-key.repository.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while a request runs under an idempotency key. */
    idempotentRun: RunningRequest | null;
  }
}

/** The request as its `Idempotency-Key` identifies it; null without one. */
export const Idempotent = createParamDecorator(
  (_data: unknown, context: ExecutionContext): RepeatableRequest | null =>
    context.switchToHttp().getRequest<FastifyRequest>().idempotentRun?.identity ?? null,
);

const KEY_FORM = /^[\x20-\x7e]{1,255}$/;
const KEPT_HEADERS = ['location', 'content-type'] as const;
const NOT_KEPT = new Set([400, 401, 403, 429]);

/** `Idempotency-Key` on POST: the first request runs, each repetition gets its answer. */
@Injectable()
export class IdempotencyGuard implements CanActivate {
  constructor(
    private readonly keys: IdempotencyKeyRepository,
    @Inject(CONFIG) private readonly masterKeys: MasterKeys,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const key = request.headers['idempotency-key'];
    const { caller } = request;
    if (key === undefined || caller === null || request.method !== 'POST') return true;
    if (typeof key !== 'string' || !KEY_FORM.test(key)) {
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
      const hash = await arrivedHash(request, run.hash);
      const body = bodyText(payload);
      if (reply.statusCode >= 500) await run.leave();
      else if (hash === null || body === null || NOT_KEPT.has(reply.statusCode)) await run.release();
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

/** The lock lasts for three more tries. */
const RENEW_EVERY_MS = 1_000;
/** Time for a handler to go on after its request ran out of time: longer than the database lets it. */
const OUTLIVED_MS = 60_000;

/** A request that holds its idempotency key; the lock is renewed for as long as it runs. */
class RunningRequest {
  #lease: Lease | null;
  readonly #timer: NodeJS.Timeout;

  constructor(
    private readonly keys: IdempotencyKeyRepository,
    private readonly seal: AnswerSeal,
    private readonly taken: Lease,
    /** Unknown while the body arrives. */
    readonly hash: Buffer,
  ) {
    this.#lease = taken;
    this.#timer = setInterval(() => void this.#renew(), RENEW_EVERY_MS).unref();
  }

  /** The request, the same in all of its runs, for what must be done by one of them alone. */
  get identity(): RepeatableRequest {
    const { request, since } = this.taken;
    const { apiKeyId, method, pathDigest, keyDigest } = request;
    const parts = [apiKeyId, method, pathDigest, keyDigest, since.toISOString(), this.hash.toString('hex')];
    return { digest: sha256(JSON.stringify(parts)), isTakenOver: isTakenOver(this.taken) };
  }

  /** Ends the run and keeps its answer. */
  async complete(hash: Buffer, answer: StoredAnswer): Promise<void> {
    const lease = this.#end();
    if (lease !== null) await this.keys.complete(lease, hash, answer.status, this.seal.seal(answer));
  }

  /** Ends the run, which may have done its work all the same: the next one takes it over. */
  async leave(): Promise<void> {
    const lease = this.#end();
    if (lease !== null) await this.keys.leave(lease);
  }

  /** Ends the run and frees the key. */
  async release(): Promise<void> {
    const lease = this.#end();
    if (lease !== null) await this.keys.release(lease);
  }

  /** Nobody knows when the handler ends: the lock is kept for as long as it may take, and then left to run out. */
  outlive(): void {
    setTimeout(() => this.#end(), OUTLIVED_MS).unref();
  }

  #end(): Lease | null {
    clearInterval(this.#timer);
    const lease = this.#lease;
    this.#lease = null;
    return lease;
  }

  async #renew(): Promise<void> {
    const lease = this.#lease;
    if (lease === null) return;
    try {
      const renewed = await this.keys.renew(lease);
      if (this.#lease === lease) this.#lease = renewed;
    } catch {
      // It is tried again before the lock ends.
    }
  }
}

/** The identity of this request's stored row. */
function identityOf(request: FastifyRequest, caller: AuthenticatedCaller, key: string): IdempotentRequest {
  return {
    scope: caller.scope,
    apiKeyId: caller.keyId,
    method: request.method,
    pathDigest: `${request.routeOptions.url ?? ''}#${sha256(decodedPath(request.url)).toString('base64url')}`,
    keyDigest: sha256(key).toString('base64url'),
  };
}

/** Hash that two requests have in common when they are the same: of the body's meaning and the query, which may carry options. */
function requestHash(request: FastifyRequest, bodyHash: Buffer): Buffer {
  const query = new URLSearchParams(request.url.slice(pathOf(request.url).length));
  query.sort();
  return sha256(Buffer.concat([bodyHash, Buffer.from(query.toString())]));
}

/** JSON without order of members and spacing. No body at all means the same as `{}`. */
function meaningOf(json: unknown = {}): string {
  return JSON.stringify(json, (_name, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const members = Object.entries(value);
    return Object.fromEntries(members.sort(([one], [other]) => (one < other ? -1 : 1)));
  });
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

/** Two spellings of a path are one; a slash inside of a segment stays apart from one between two. */
function decodedPath(url: string): string {
  const segments = pathOf(url).split('/');
  return JSON.stringify(segments.map((segment) => decodeURIComponent(segment)));
}

/** The same bytes as `source`, and the SHA-256 of all of them once they have been read. */
function hashedStream(source: Readable): { stream: Readable; hash: Promise<Buffer> } {
  const digest = createHash('sha256');
  const ended = Promise.withResolvers<Buffer>();
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      digest.update(chunk);
      done(null, chunk);
    },
  });
  pipeline(source, stream, (error) => (error == null ? ended.resolve(digest.digest()) : ended.reject(error)));
  // The reader of the stream sees the error, too.
  ended.promise.catch(() => undefined);
  return { stream, hash: ended.promise };
}
