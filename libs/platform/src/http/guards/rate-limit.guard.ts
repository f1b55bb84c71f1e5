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

/**
 * Limits of requests a minute: by key, and without one by client network, or by token. Operations with a limit of their own count
 * a key's requests apart.
 */
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
        limit: (context) => {
          const request = requestOf(context);
          const own = ownLimitOf(request);
          return own?.perMinute ?? request.caller?.rateLimitPerMinute ?? limits[kindOf(context)];
        },
        skipIf: (context) => kindOf(context) === undefined,
      },
    ],
    getTracker: (_request, context) =>
      (kindOf(context) === 'feedback' ? feedbackOf(requestOf(context))?.id : undefined) ??
      trackerOf(requestOf(context)),
    // Not by handler, as it is by default.
    generateKey: (context, tracker) =>
      `${ownLimitOf(requestOf(context))?.name ?? kindOf(context)}:${tracker}`,
  };
}

/** The limit of the operation that a key asks for, where it has one of its own. */
function ownLimitOf({ caller, routeOptions }: FastifyRequest) {
  return caller === null ? undefined : routeOptions.config?.operation?.rateLimit;
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
  /** Requests that are looked at before their bodies are read. */
  readonly #ahead = new WeakSet<FastifyRequest>();

  /** The same for a request that reaches no controller, for which this class stands. */
  async checkUnrouted(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.canActivate(new ExecutionContextHost([request, reply], RateLimitGuard, RateLimitGuard));
  }

  /** Refuses a request whose key has nothing left before its body is read. Counts nothing: it is counted with its body. */
  async checkAhead(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    this.#ahead.add(request);
    try {
      await this.checkUnrouted(request, reply);
    } finally {
      this.#ahead.delete(request);
    }
  }

  protected override async handleRequest(check: ThrottlerRequest): Promise<boolean> {
    const request = check.context.switchToHttp().getRequest<FastifyRequest>();
    const reply = check.context.switchToHttp().getResponse<FastifyReply>();
    if (!this.#ahead.has(request)) request.isCounted = true;
    const record = await this.#count(request, check);
    if (record === null) return true;
    if (request.caller !== null) writeLimitHeaders(reply, ownLimitOf(request)?.name ?? POLICY, check, record);
    if (!record.isBlocked) return true;
    void reply.header('retry-after', String(record.timeToBlockExpire));
    const isOfFailures = request.caller === null && check.context.getClass() === RateLimitGuard;
    const reason = isOfFailures ? 'Too many requests of this address had no key that may be used. ' : '';
    throw new ThrottlerException(`${reason}Try again in ${record.timeToBlockExpire} s.`);
  }

  /** Null for a page that cannot be counted: no reader is refused for that. */
  async #count(request: FastifyRequest, check: ThrottlerRequest): Promise<RateLimitRecord | null> {
    const { context, limit, ttl, getTracker, generateKey } = check;
    try {
      const key = generateKey(context, await getTracker(request, context), 'default');
      if (this.#ahead.has(request)) return await this.storageService.hit(key, ttl, limit - 1, 0);
      return await this.storageService.hit(key, ttl, limit, ownLimitOf(request)?.countOf?.(request.body));
    } catch (error) {
      const isAway = error instanceof UnavailableError || isUnavailability(error);
      if (isAway && this.reflector.get(LimitClients, context.getClass()) === 'page') return null;
      throw error;
    }
  }
}

/** Name of the policy that a key's requests count against, but for operations with their own, in `RateLimit-Policy` and `RateLimit`. */
const POLICY = 'default';

/** The window in two spellings: the older one, and structured fields (draft-ietf-httpapi-ratelimit-headers-11 §2 and §3). */
function writeLimitHeaders(
  reply: FastifyReply,
  policy: string,
  { limit, ttl }: Pick<ThrottlerRequest, 'limit' | 'ttl'>,
  { totalHits, timeToExpire, resetAtSeconds }: RateLimitRecord,
): void {
  const remaining = Math.max(0, limit - totalHits);
  void reply.headers({
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(resetAtSeconds),
    'ratelimit-policy': `"${policy}";q=${limit};w=${ttl / 1000}`,
    ratelimit: `"${policy}";r=${remaining};t=${timeToExpire}`,
  });
}
