import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { auditedId, type AuditOutcome, AuditTrail } from '../database/audit-trail.js';
import { Database } from '../database/database.js';
import { describeError } from '../logger.js';
import { LOGGER } from '../platform.module.js';
import type { AuthenticatedCaller } from './operation/caller.js';
import { type OperationOptions, prefixOf } from './operation/operation.decorator.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The entry of the audit log that a request begins which may change something. */
    auditTrail: AuditTrail | null;
  }
}

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const MINUTE_MS = 60_000;
const MOST_KEYS = 10_000;

/** True for an operation that changes something, or shows people's data to the operator. */
function isAudited(method: string, { mutates, showsPeople }: OperationOptions): boolean {
  return showsPeople === true || (mutates !== false && !READING.has(method));
}

/**
 * One entry of the audit log for each request that changes something, or would have: written with the change, or before the answer
 * where there is none. Requests without a valid key belong to no environment and have none.
 */
@Injectable()
export class RequestAudit {
  /** Keys over their limit, each for a minute: what a client may cost is bounded by that limit. */
  readonly #limited = new LRUCache<string, true>({ max: MOST_KEYS, ttl: MINUTE_MS });

  constructor(
    private readonly database: Database,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Lets guards and handler run under the request's trail. */
  begin(request: FastifyRequest, done: () => void): void {
    const trail = trailOf(request);
    request.auditTrail = trail;
    if (trail === null) done();
    else trail.run(done);
  }

  /** Before the answer leaves: writes the entry that no change has written. */
  async end(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const trail = request.auditTrail ?? trailOf(request);
    if (trail === null) return;
    const outcome = outcomeOf(reply);
    const isTold = trail.isWritten && (outcome === 'SUCCEEDED' || outcome === 'REPLAYED');
    // A handler that ran out of time may still change something.
    if (request.problem !== 'unavailable') trail.close();
    if (isTold || this.#isRepeated(request)) return;
    try {
      await this.database.write(scopeOf(request), trail.ofOutcome(outcome, request.problem));
      if (outcome === 'SUCCEEDED') trail.written();
    } catch (error) {
      const { id: requestId, routeOptions } = request;
      const action = routeOptions.config.operation?.operationId;
      this.logger.warn(
        { requestId, action, outcome, problem: request.problem, error: describeError(error) },
        'no entry in the audit log',
      );
    }
  }

  #isRepeated({ caller, problem }: FastifyRequest): boolean {
    if (problem !== 'rate-limited' || caller === null) return false;
    if (this.#limited.has(caller.keyId)) return true;
    this.#limited.set(caller.keyId, true);
    return false;
  }
}

function scopeOf({ caller }: FastifyRequest): AuthenticatedCaller['scope'] {
  if (caller === null) throw new Error('This request has no key.');
  return caller.scope;
}

function outcomeOf(reply: FastifyReply): AuditOutcome {
  if (reply.hasHeader('idempotency-replayed')) return 'REPLAYED';
  if (reply.statusCode < 400) return 'SUCCEEDED';
  return reply.statusCode < 500 ? 'REFUSED' : 'FAILED';
}

function trailOf(request: FastifyRequest): AuditTrail | null {
  const { caller, method, routeOptions, id } = request;
  const { operation } = routeOptions.config;
  if (caller === null || operation === undefined || !isAudited(method, operation)) return null;
  return new AuditTrail({
    environmentId: caller.scope.environmentId,
    actor: { type: 'KEY', keyId: caller.keyId, address: request.clientAddress },
    requestId: id,
    action: operation.operationId,
    ...targetOf(routeOptions.url ?? '', request.params),
    ...(routeOptions.url?.includes(':') === true
      ? {}
      : { targetIdOf: (made: unknown) => madeId(operation, made) }),
    items: itemsOf(operation, request.body),
  });
}

/** The first part of the route, in the singular, and the parameter right behind it. */
function targetOf(
  route: string,
  params: unknown,
): { readonly targetType: string; readonly targetId: string | null } {
  const [collection = '', parameter = ''] = route.slice(prefixOf(route).length + 1).split('/');
  const value = parameter.startsWith(':')
    ? (params as Readonly<Record<string, unknown>> | undefined)?.[parameter.slice(1)]
    : null;
  return { targetType: collection.replace(/(?<=[^s])s$/, ''), targetId: auditedId(value) };
}

/** The key in the path of what was made, else its id. */
function madeId({ response }: OperationOptions, made: unknown): string | null {
  if (typeof made !== 'object' || made === null) return null;
  const { id } = made as { readonly id?: unknown };
  const named = auditedId(response.location?.(made)?.split('/')[1]);
  return named === null || named === 'undefined' ? auditedId(id) : named;
}

function itemsOf({ bulk }: OperationOptions, body: unknown): number | null {
  if (bulk === undefined || typeof body !== 'object' || body === null) return null;
  const lists = bulk.map((name) => (body as Readonly<Record<string, unknown>>)[name]).filter(Array.isArray);
  return lists.length === 0 ? null : lists.reduce((items, list) => items + list.length, 0);
}
