import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Inject } from '@nestjs/common';
import { ThrottlerException } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { Clock, DomainError, type DomainErrorCode } from '#kernel';
import type { Config } from '../../config.js';
import { SQL_STATE, sqlStateOf } from '../../database/database-failure.js';
import { isOfOutage, isUnavailability } from '../../lifecycle/outage.js';
import { CONFIG, LOGGER } from '../../platform.module.js';
import { PROBLEM_TYPES, ProblemError, type ProblemSlug } from './problem.js';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** Answers whatever is thrown with its problem (RFC 9457); the unforeseen is logged here, once. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    @Inject(CONFIG) private readonly config: Pick<Config, 'PUBLIC_URL'>,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  /** The same for errors that do not come through Nest. */
  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const { url, bodyLimit } = request.routeOptions;
    const problem =
      statusOf(error) === 413 ? tooLarge(bodyLimit) : problemOf(error, url?.includes(':') ?? false);
    if (problem.slug === 'internal-error') this.#log('error', 'request failed', error, request);
    else if ((problem.slug === 'unavailable' && !isOfOutage(error)) || isVanishedReference(error))
      this.#log('warn', 'request could not be served', error, request);
    if (!reply.sent) this.#send(problem, request, reply);
    else if (!reply.raw.writableEnded) reply.raw.destroy();
  }

  #log(level: 'error' | 'warn', message: string, error: unknown, request: FastifyRequest): void {
    const where = { requestId: request.id, method: request.method, route: request.routeOptions.url };
    this.logger[level]({ ...where, err: error }, message);
  }

  #send(problem: ProblemError, request: FastifyRequest, reply: FastifyReply): void {
    const { members, headers } = problem.details;
    request.problem = problem.slug;
    const beginning = beginningOf(problem, this.config);
    const body = {
      ...beginning,
      instance: pathOf(request.url),
      timestamp: this.clock.now().toISOString(),
      requestId: request.id,
      ...members,
    };
    // A handler that failed may have announced another body.
    reply.removeHeader('content-length').removeHeader('content-disposition').removeHeader('etag');
    void reply
      .code(beginning.status)
      .headers(headers ?? {})
      .header('content-type', PROBLEM_MEDIA_TYPE)
      .header('cache-control', 'no-store');
    // Bytes, since Fastify would add a charset to text, and JSON has none (RFC 8259 §11).
    void reply.send(Buffer.from(JSON.stringify(body)));
  }
}

/** The problem of a part of a request, as it stands in an answer about all parts. */
export function partProblem(error: DomainError | ProblemError, config: Pick<Config, 'PUBLIC_URL'>) {
  const problem = problemOf(error, false);
  return { ...beginningOf(problem, config), ...problem.details.members };
}

function beginningOf(
  { slug, details: { detail } }: ProblemError,
  { PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>,
) {
  const { status, title } = PROBLEM_TYPES[slug];
  return {
    type: `${PUBLIC_URL}/problems/${slug}`,
    title,
    status,
    ...(detail === undefined ? {} : { detail }),
  };
}

/** The path of a request target without its query. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

const RETRY_AFTER_SECONDS = 1;

/** Header of each 401 (RFC 9110 §11.6.1). */
export const CHALLENGE = { 'www-authenticate': 'Bearer' };

/** Statuses of Nest's and Fastify's refusals, before a handler is reached. */
const SLUG_OF_STATUS: Readonly<Record<number, ProblemSlug>> = {
  400: 'malformed-json',
  401: 'unauthorized',
  403: 'insufficient-scope',
  404: 'not-found',
  405: 'method-not-allowed',
  406: 'not-acceptable',
  413: 'payload-too-large',
  415: 'unsupported-media-type',
  503: 'unavailable',
};

/** The problem of an error; of an unforeseen one without detail. `namesResource`: the path names what the request is about. */
export function problemOf(error: unknown, namesResource: boolean): ProblemError {
  if (error instanceof ProblemError) return error;
  if (error instanceof DomainError) return problemOfDomainError(error);
  if (error instanceof ThrottlerException) return new ProblemError('rate-limited', { detail: error.message });
  const slug = SLUG_OF_STATUS[statusOf(error)];
  if (slug === 'unavailable' || (slug === undefined && isUnavailability(error))) return unavailable();
  // If only the body can have named it, the same request sent again gets the problem that is right.
  if (isVanishedReference(error)) return namesResource ? new ProblemError('not-found') : unavailable();
  return new ProblemError(slug ?? 'internal-error');
}

function problemOfDomainError(error: DomainError): ProblemError {
  const slug: DomainErrorCode & ProblemSlug = error.code;
  const { retryAfterSeconds, ...members } = error.members;
  const mayRetry = slug === 'unavailable' || slug === 'rate-limited';
  return new ProblemError(slug, {
    detail: error.message,
    members,
    ...(mayRetry ? { headers: { 'retry-after': retryAfter(retryAfterSeconds) } } : {}),
    ...(slug === 'unauthorized' ? { headers: CHALLENGE } : {}),
  });
}

function tooLarge(most: number): ProblemError {
  return new ProblemError('payload-too-large', { detail: `It may have at most ${most / 1_048_576} MB.` });
}

function unavailable(): ProblemError {
  return new ProblemError('unavailable', { headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } });
}

/** Whole seconds, one at least (RFC 9110 §10.2.3). */
function retryAfter(seconds: unknown): string {
  return String(Math.max(RETRY_AFTER_SECONDS, typeof seconds === 'number' ? Math.ceil(seconds) : 0));
}

function statusOf(error: unknown): number {
  if (error instanceof HttpException) return error.getStatus();
  const isFastifys = error instanceof Error && 'code' in error && String(error.code).startsWith('FST_');
  return isFastifys && 'statusCode' in error ? Number(error.statusCode) : 500;
}

/** PostgreSQL says the same code when a row is removed that others refer to: `update or delete on table`. */
const ROW_THAT_REFERS = /insert or update on table "[^"]+" violates foreign key constraint/;

/** A row to be referred to is not there any more: it went after the request looked. Only English servers are understood. */
export function isVanishedReference(error: unknown): boolean {
  return (
    error instanceof Error &&
    sqlStateOf(error) === SQL_STATE.foreignKeyViolation &&
    ROW_THAT_REFERS.test(error.message)
  );
}
