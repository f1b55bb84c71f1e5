import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { minutes, normalizeIp, type ThrottlerModuleOptions } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import type { Config } from '../../config/config.js';
import type { LinkTokens } from '../../tokens/link-tokens.js';
import type { RateLimitStorage } from './rate-limit.storage.js';

/** Requests without a valid key that a client network may send in a minute. */
const FAILURES_PER_MINUTE = 60;

/**
 * Limits the requests to a controller that come without a key: as readers of pages, as clients that have none, or, as
 * feedback, by the signed token of their path; with a token that is none of ours they count as clients.
 */
export const LimitClients = Reflector.createDecorator<'page' | 'client' | 'feedback'>();

/** What may be asked for in a minute: by key, and without one by client network, or by token. */
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
