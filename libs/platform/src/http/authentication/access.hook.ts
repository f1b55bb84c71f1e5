import type { FastifyReply, FastifyRequest } from 'fastify';
import { API_PREFIX } from '../operation/api-controller.decorator.js';
import type { OperationOptions } from '../operation/operation-options.js';
import { ProblemError } from '../problems/problem-error.js';
import { pathOf } from '../problems/problem-writer.js';
import type { RateLimit } from '../rate-limit/rate-limit.js';
import type { RateLimiter } from '../rate-limit/rate-limiter.js';
import type { RouteTable } from '../routing/route-table.js';
import { accepts } from './accept.js';
import type { ApiKeyAuthenticator } from './api-key-authenticator.js';
import type { AuthenticatedCaller } from './authenticated-caller.js';
import { readCredentials } from './credentials.js';

/**
 * Who may come in, decided before a byte of the body is read: 401, then 429, then 403, then whether the
 * answer would be acceptable. Routes without `@Operation` are open, and the kit allows none below /api/v1.
 */
export class AccessHook {
  constructor(
    private readonly authenticator: ApiKeyAuthenticator,
    private readonly limiter: RateLimiter,
    private readonly routes: RouteTable,
  ) {}

  async admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (request.is404) return this.#refuseUnknown(request, reply);
    const { operation } = request.routeOptions.config;
    if (operation !== undefined) await this.#admitTo(operation, request, reply);
  }

  /** The same for a request whose path the router could not read and will refuse. */
  async admitUnread(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const operation = this.routes.operationAt(request.method, pathOf(request.url));
    if (operation === undefined) await this.#lookAtKey(request, reply);
    else await this.#admitTo(operation, request, reply);
  }

  async #admitTo(operation: OperationOptions, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const caller = await this.#authenticate(request, reply);
    if (operation.scope !== null && !caller.scopes.has(operation.scope)) {
      throw new ProblemError('insufficient-scope', {
        detail: `This operation needs the scope ${operation.scope}.`,
        members: { requiredScope: operation.scope },
      });
    }
    const produced = mediaTypeOf(operation);
    if (produced !== null && !accepts(request.headers.accept, produced)) {
      throw new ProblemError('not-acceptable', { detail: `This operation answers in ${produced}.` });
    }
  }

  async #authenticate(request: FastifyRequest, reply: FastifyReply): Promise<AuthenticatedCaller> {
    const credentials = readCredentials(request.headers);
    const caller = credentials.kind === 'key' ? await this.authenticator.authenticate(credentials.key) : null;
    if (caller === null) return this.#refuseStranger(request, credentials.kind === 'contradiction');
    request.caller = caller;
    const limit = await this.limiter.countKey(caller);
    reply
      .header('x-ratelimit-limit', String(limit.limit))
      .header('x-ratelimit-remaining', String(limit.remaining))
      .header('x-ratelimit-reset', String(limit.resetAtSeconds));
    if (limit.exceeded) throw rateLimited(limit);
    return caller;
  }

  async #refuseStranger(request: FastifyRequest, contradiction: boolean): Promise<never> {
    const limit = await this.limiter.countFailure(request.clientAddress);
    if (limit.exceeded) throw rateLimited(limit);
    throw new ProblemError('unauthorized', {
      detail: contradiction
        ? 'X-API-Key and Authorization hold different keys.'
        : 'Send a valid API key in X-API-Key or as Authorization: Bearer.',
      headers: { 'www-authenticate': 'Bearer' },
    });
  }

  /** Where there is no operation: a key that is sent along is looked at first, as it is everywhere else. */
  async #lookAtKey(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const hasKey = readCredentials(request.headers).kind !== 'none';
    if (hasKey && pathOf(request.url).startsWith(`${API_PREFIX}/`)) await this.#authenticate(request, reply);
  }

  /** A path or method that does not exist. */
  async #refuseUnknown(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.#lookAtKey(request, reply);
    const path = pathOf(request.url);
    const methods = this.routes.methodsOf(path);
    if (methods.length === 0) throw new ProblemError('not-found', { detail: 'There is no such path.' });
    const allow = [...methods, 'OPTIONS'].join(', ');
    if (request.method !== 'OPTIONS') throw new ProblemError('method-not-allowed', { headers: { allow } });
    await reply.code(204).header('allow', allow).send();
  }
}

function rateLimited(limit: RateLimit): ProblemError {
  return new ProblemError('rate-limited', {
    detail: `Try again in ${limit.retryAfterSeconds} s.`,
    headers: { 'retry-after': String(limit.retryAfterSeconds) },
  });
}

function mediaTypeOf({ response }: OperationOptions): string | null {
  if (response.schema !== undefined) return 'application/json';
  return response.contentType?.split(';')[0] ?? null;
}
