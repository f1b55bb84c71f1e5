import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import serializers, { type SerializerFactory } from '@fastify/fast-json-stringify-compiler';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { type Clock, newId } from '#kernel';
import type { Config } from '../config.js';
import { PROBLEM_MEDIA_TYPE, ProblemFilter } from './operation/problem.filter.js';
import { invalidRequest, PROBLEM_TYPES, ProblemError } from './operation/problem.js';

const FORM = /^[A-Za-z0-9._-]{1,128}$/;

/** The client's own request id when it is usable, else a new one. */
export function requestIdOf(
  { headers }: Pick<IncomingMessage, 'headers'>,
  make: () => string = newId,
): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && FORM.test(given) ? given : make();
}

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

/** RFC 9110 §15.5.9 and RFC 6585 §5, by the code of Node's error; everything else is a 400. */
const STATUS_OF: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

/** The whole answer to bytes that are no request of HTTP/1.1, one with too large headers, or one that never ended. */
export function answerToNoRequest(code: string | undefined, publicUrl: string, now: Date): string {
  const status = STATUS_OF[code ?? ''] ?? 400;
  const requestId = newId();
  const body = JSON.stringify({
    ...(status === 400 ? notHttp(publicUrl) : { type: 'about:blank', title: STATUS_CODES[status] }),
    status,
    timestamp: now.toISOString(),
    requestId,
  });
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `content-type: ${PROBLEM_MEDIA_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'cache-control: no-store',
    'connection: close',
    '',
    body,
  ].join('\r\n');
}

function notHttp(publicUrl: string): object {
  return {
    type: `${publicUrl}/problems/validation-error`,
    title: PROBLEM_TYPES['validation-error'].title,
    errors: { request: 'is not HTTP/1.1' },
  };
}

const BODY_LIMIT_BYTES = 1024 * 1024;
/** Time for a whole request to arrive; a large import over a slow line takes long. */
const REQUEST_TIMEOUT_MS = 600_000;
/** An address of 254 characters, all of them percent-encoded, and a signed token. */
const MAX_PARAM_LENGTH = 4_096;

declare module 'fastify' {
  interface FastifyInstance {
    /** Decides who may come in though the path cannot be read; set by `useHttpKit`. */
    admitUnread?: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  }
}

export interface HttpAdapterOptions {
  readonly config: Pick<Config, 'PUBLIC_URL'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Fastify as the kit needs it, before Nest knows it. */
export function createHttpAdapter({ config, clock, logger }: HttpAdapterOptions): FastifyAdapter {
  const problems = new ProblemFilter(config, clock, logger);
  return new FastifyAdapter({
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    requestIdHeader: false,
    // Node's own refusal would be no problem and have no request id; `refuseWithoutHost` does it instead.
    http: { requireHostHeader: false },
    rewriteUrl: ({ url = '/' }) => originForm(url),
    genReqId: requestIdOf,
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH, caseSensitive: true, ignoreTrailingSlash: false },
    skipMiddie: true,
    schemaController: { compilersFactory: { buildSerializer: compileOnDemand } },
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      void reply.header('x-request-id', request.id);
      void refuseUnread(problems, error, request, reply);
    },
    clientErrorHandler: (error: NodeJS.ErrnoException, socket) => {
      if (error.code === 'ECONNRESET' || socket.destroyed) return;
      if (socket.writable) socket.write(answerToNoRequest(error.code, config.PUBLIC_URL, clock.now()));
      socket.destroy(error);
    },
  });
}

/**
 * Compiles the writer of a route's answers with the first of them: most routes of an installation are never asked, and all
 * writers take 4 MB.
 */
const compileOnDemand: SerializerFactory = (schemas, options) => {
  const compile = serializers.SerializerSelector()(schemas, options);
  return (route) => {
    let write: ReturnType<typeof compile> | undefined;
    return (answer) => {
      write ??= compile(route);
      return write(answer);
    };
  };
};

/** Without a key that may ask there is nothing to be learned about the path. */
async function refuseUnread(
  problems: ProblemFilter,
  { code }: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  try {
    await request.server.admitUnread?.(request, reply);
    throw problemOfRouting(code);
  } catch (error) {
    problems.answer(error, request, reply);
  }
}

/** The router's refusal, before there is a route. */
function problemOfRouting(code: string): ProblemError {
  return code === 'FST_ERR_BAD_URL'
    ? invalidRequest({ path: 'is not valid percent-encoding' })
    : new ProblemError('not-found', { detail: 'There is no such path.' });
}
