import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ApiScope, OPERATOR_KEY_PREFIX, type OperatorScope } from '#kernel';
import {
  type ApiKeyAuthenticator,
  type AuthenticatedCaller,
  type Credentials,
  readCredentials,
} from '../operation/caller.js';
import {
  API_PREFIX,
  isForOperator,
  OperationMetadata,
  type OperationOptions,
} from '../operation/operation.decorator.js';
import { CHALLENGE, pathOf } from '../operation/problem.filter.js';
import { ProblemError } from '../operation/problem.js';
import type { RouteTable } from '../operation/route-table.js';
import type { RateLimitGuard } from './rate-limit.guard.js';

/**
 * Authenticates before a byte of the body is read: 401. Guards decide the rest, before a body of more than 1 MB as well; requests to
 * no route, and so to no guard, are refused here. Routes without `@Operation` are open, and the kit allows none below /api/v1 and
 * /operator/v1, of which one takes keys of projects alone, the other those of the operator.
 */
export class AccessHook {
  constructor(
    private readonly authenticator: ApiKeyAuthenticator,
    private readonly rateLimit: RateLimitGuard,
    private readonly routes: RouteTable,
  ) {}

  async admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (request.is404) await this.#refuseUnknown(request, reply);
    else if (request.routeOptions.config.operation !== undefined) {
      const { operation } = request.routeOptions.config;
      await this.#authenticate(request, reply);
      if (operation.maxBodyBytes === undefined || !isLarge(request)) return;
      await this.rateLimit.checkAhead(request, reply);
      requireScope(operation, request);
    }
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
    const isOperators = isForOperator(request.routeOptions.url ?? pathOf(request.url));
    const caller =
      credentials.kind === 'key' && isOperatorKey(credentials.key) === isOperators
        ? await this.authenticator.authenticate(credentials.key)
        : null;
    if (caller?.isAllowedFrom(request.clientAddress) === true) {
      this.authenticator.used(caller);
      request.caller = caller;
      return;
    }
    await this.rateLimit.checkUnrouted(request, reply);
    if (caller !== null) {
      // Counted as of a client, so that a stolen key uses nothing up; the log names the key.
      request.caller = caller;
      throw new ProblemError('network-not-allowed', {
        detail: `The key may not be used from ${request.clientAddress}.`,
      });
    }
    throw new ProblemError('unauthorized', {
      detail: unauthorized(credentials, isOperators),
      headers: CHALLENGE,
    });
  }

  /** Checks a key that is sent to a path without an operation first, as everywhere else. */
  async #lookAtKey(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const hasKey = readCredentials(request.headers).kind !== 'none';
    const path = pathOf(request.url);
    if (!hasKey || !(path.startsWith(`${API_PREFIX}/`) || isForOperator(path))) return;
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
    if (request.method !== 'OPTIONS')
      throw new ProblemError('method-not-allowed', { detail: `Allowed here: ${allow}.`, headers: { allow } });
    await reply.code(204).header('allow', allow).send();
  }
}

const isOperatorKey = (key: string): boolean => key.startsWith(OPERATOR_KEY_PREFIX);

function unauthorized(credentials: Credentials, isOperators: boolean): string {
  if (credentials.kind === 'contradiction') return 'X-API-Key and Authorization hold different keys.';
  const valid = isOperators ? 'a valid operator key' : 'a valid API key';
  const way = `Send ${valid} in X-API-Key or as Authorization: Bearer.`;
  if (credentials.kind === 'none' || isOperatorKey(credentials.key) === isOperators) return way;
  return isOperators
    ? `This API takes operator keys (${OPERATOR_KEY_PREFIX}…) alone, not API keys of projects. ${way}`
    : `This API takes API keys of projects alone, not operator keys, which are for /operator/v1. ${way}`;
}

/** Octets of a body that is read before the guards decide. */
const READ_AHEAD = 1024 * 1024;

/** The body is large, or may be. */
const isLarge = ({ headers }: FastifyRequest): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > READ_AHEAD;

/** Lets a key use the operations of its scopes; others are a 403. Routes without `@Operation` are open. */
@Injectable()
export class ScopeGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const operation = this.reflector.get(OperationMetadata, context.getHandler());
    if (operation !== undefined) requireScope(operation, context.switchToHttp().getRequest());
    return true;
  }
}

/** Throws when the operation needs a scope that the request's key does not have. */
export function requireScope({ scope }: OperationOptions, { caller }: FastifyRequest): void {
  if (scope !== null) requireScopeOf(caller, scope);
}

/** The same where the request decides which scope it needs. */
export function requireScopeOf(
  caller: Pick<AuthenticatedCaller, 'scopes'> | null,
  scope: ApiScope | OperatorScope,
): void {
  if (caller?.scopes.has(scope)) return;
  throw new ProblemError('insufficient-scope', {
    detail: `This operation needs the scope ${scope}.`,
    members: { requiredScope: scope },
  });
}
