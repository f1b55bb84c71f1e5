import type { FastifyReply, FastifyRequest } from 'fastify';
import { API_PREFIX } from '../operation/api-controller.decorator.js';
import { ProblemError } from '../problems/problem-error.js';
import { pathOf } from '../problems/problem-writer.js';
import type { RateLimitGuard } from '../rate-limit/rate-limit.guard.js';
import type { RouteTable } from '../routing/route-table.js';
import type { ApiKeyAuthenticator } from './api-key-authenticator.js';
import { readCredentials } from './credentials.js';
import { requireScope } from './scope.guard.js';

/**
 * Finds out who calls before a byte of the body is read: 401. The guards decide what they may; what comes to no route,
 * and so to no guard, is decided here. Routes without `@Operation` are open, and the kit allows none below /api/v1.
 */
export class AccessHook {
  constructor(
    private readonly authenticator: ApiKeyAuthenticator,
    private readonly rateLimit: RateLimitGuard,
    private readonly routes: RouteTable,
  ) {}

  async admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (request.is404) await this.#refuseUnknown(request, reply);
    else if (request.routeOptions.config.operation !== undefined) await this.#authenticate(request, reply);
  }

  /** The same for a request whose path the router could not read and will refuse. */
  async admitUnread(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const operation = this.routes.operationAt(request.method, pathOf(request.url));
    if (operation === undefined) return this.#lookAtKey(request, reply);
    await this.#authenticate(request, reply);
    await this.rateLimit.checkUnrouted(request, reply);
    requireScope(operation, request);
  }

  async #authenticate(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const credentials = readCredentials(request.headers);
    if (credentials.kind === 'key') request.caller = await this.authenticator.authenticate(credentials.key);
    if (request.caller !== null) return;
    await this.rateLimit.checkUnrouted(request, reply);
    throw new ProblemError('unauthorized', {
      detail:
        credentials.kind === 'contradiction'
          ? 'X-API-Key and Authorization hold different keys.'
          : 'Send a valid API key in X-API-Key or as Authorization: Bearer.',
      headers: { 'www-authenticate': 'Bearer' },
    });
  }

  /** Where there is no operation: a key that is sent along is looked at first, as it is everywhere else. */
  async #lookAtKey(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const hasKey = readCredentials(request.headers).kind !== 'none';
    if (!hasKey || !pathOf(request.url).startsWith(`${API_PREFIX}/`)) return;
    await this.#authenticate(request, reply);
    await this.rateLimit.checkUnrouted(request, reply);
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
