import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Clock } from '#kernel';
import type { Config } from '../../config/config.js';
import { invalidRequest, ProblemError } from '../problems/problem-error.js';
import { ProblemFilter } from '../problems/problem.filter.js';
import { ProblemWriter } from '../problems/problem-writer.js';
import { answerToNoRequest } from './no-request.js';
import { requestIdOf } from './request-id.js';
import { originForm } from './request-form.js';

const BODY_LIMIT_BYTES = 1024 * 1024;
/** How long a whole request may take to arrive; a large import over a slow line takes long. */
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
  const problems = new ProblemFilter(new ProblemWriter(config.PUBLIC_URL, clock), logger);
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

/** What the router refuses before there is a route. */
function problemOfRouting(code: string): ProblemError {
  return code === 'FST_ERR_BAD_URL'
    ? invalidRequest({ path: 'is not valid percent-encoding' })
    : new ProblemError('not-found', { detail: 'There is no such path.' });
}
