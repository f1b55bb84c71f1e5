import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import {
  minutes,
  normalizeIp,
  ThrottlerException,
  ThrottlerGuard,
  type ThrottlerModuleOptions,
  type ThrottlerRequest,
} from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { UnavailableError } from '#kernel';
import type { Config } from '../../config.js';
import { isUnavailability } from '../../lifecycle/outage.js';
import type { LinkTokens } from '../../secrets/link-tokens.js';
import type { RateLimitRecord, RateLimitStorage } from './rate-limit.storage.js';

/** Requests without a valid key that a client network may send in a minute. */
const FAILURES_PER_MINUTE = 60;

/**
 * Limits requests to a controller that come without a key: as of readers of pages, as of clients, or, for feedback, by the signed
 * token of their path; with a token that is none of ours they count as clients.
 */
export const LimitClients = Reflector.createDecorator<'page' | 'client' | 'feedback'>();

/** Limits of requests a minute: by key, and without one by client network, or by token. */
export function rateLimits(
  { RATE_LIMIT_PER_MINUTE, PAGE_LIMIT_PER_MINUTE, FEEDBACK_LIMIT_PER_MINUTE }: Config,
  storage: RateLimitStorage,
  reflector: Reflector,
  tokens: LinkTokens,
): ThrottlerModuleOptions {
  const limits = {
    key: RATE_LIMIT_PER_MINUTE,
    page: PAGE_LIMIT_PER_MINUTE,
    client: FAILURES_PER_MINUTE,
    feedback: FEEDBACK_LIMIT_PER_MINUTE,
  };
  const feedbackOf = ({ params }: FastifyRequest) =>
    tokens.verify((params as { readonly token?: string }).token ?? '', 'feedback');
  const kindOf = (context: ExecutionContext) => {
    const request = requestOf(context);
    if (request.caller !== null) return 'key';
    const kind = reflector.get(LimitClients, context.getClass());
    return kind === 'feedback' && feedbackOf(request) === null ? 'client' : kind;
  };
  return {
    storage,
    throttlers: [
      {
        ttl: minutes(1),
        limit: (context) => requestOf(context).caller?.rateLimitPerMinute ?? limits[kindOf(context)],
        skipIf: (context) => kindOf(context) === undefined,
      },
    ],
    getTracker: (_request, context) =>
      (kindOf(context) === 'feedback' ? feedbackOf(requestOf(context))?.id : undefined) ??
      trackerOf(requestOf(context)),
    // Not by handler, as it is by default.
    generateKey: (context, tracker) => `${kindOf(context)}:${tracker}`,
  };
}

function requestOf(context: ExecutionContext): FastifyRequest {
  return context.switchToHttp().getRequest<FastifyRequest>();
}

/** An IPv6 address counts as its first 64 bits, which one subscriber line has (RFC 6177 §2). */
function trackerOf({ caller, clientAddress }: FastifyRequest): string {
  return caller?.keyId ?? normalizeIp(clientAddress);
}

/** Refuses requests past the `rateLimits` with 429; every answer to a key has its remaining number. */
@Injectable()
@LimitClients('client')
export class RateLimitGuard extends ThrottlerGuard {
  declare protected readonly storageService: RateLimitStorage;

  /** The same for a request that reaches no controller, for which this class stands. */
  async checkUnrouted(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.canActivate(new ExecutionContextHost([request, reply], RateLimitGuard, RateLimitGuard));
  }

  protected override async handleRequest(check: ThrottlerRequest): Promise<boolean> {
    const request = check.context.switchToHttp().getRequest<FastifyRequest>();
    const reply = check.context.switchToHttp().getResponse<FastifyReply>();
    request.isCounted = true;
    const record = await this.#count(request, check);
    if (record === null) return true;
    if (request.caller !== null) writeLimitHeaders(reply, check.limit, record);
    if (!record.isBlocked) return true;
    void reply.header('retry-after', String(record.timeToBlockExpire));
    throw new ThrottlerException(`Try again in ${record.timeToBlockExpire} s.`);
  }

  /** Null for a page that cannot be counted: no reader is refused for that. */
  async #count(request: FastifyRequest, check: ThrottlerRequest): Promise<RateLimitRecord | null> {
    const { context, limit, ttl, getTracker, generateKey } = check;
    try {
      const key = generateKey(context, await getTracker(request, context), 'default');
      return await this.storageService.increment(key, ttl, limit);
    } catch (error) {
      const isAway = error instanceof UnavailableError || isUnavailability(error);
      if (isAway && this.reflector.get(LimitClients, context.getClass()) === 'page') return null;
      throw error;
    }
  }
}

function writeLimitHeaders(
  reply: FastifyReply,
  limit: number,
  { totalHits, resetAtSeconds }: RateLimitRecord,
): void {
  void reply.headers({
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(Math.max(0, limit - totalHits)),
    'x-ratelimit-reset': String(resetAtSeconds),
  });
}
