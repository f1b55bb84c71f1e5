import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { minutes, normalizeIp, type ThrottlerModuleOptions } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import type { Config } from '../../config/config.js';
import type { RateLimitStorage } from './rate-limit.storage.js';

/** Requests without a valid key that a client network may send in a minute. */
const FAILURES_PER_MINUTE = 60;

/** Limits the requests to a controller that come without a key: as readers of pages, or as clients that have none. */
export const LimitClients = Reflector.createDecorator<'page' | 'client'>();

/** What may be asked for in a minute: by key, and without one by client network. */
export function rateLimits(
  { RATE_LIMIT_PER_MINUTE, PAGE_LIMIT_PER_MINUTE }: Config,
  storage: RateLimitStorage,
  reflector: Reflector,
): ThrottlerModuleOptions {
  const limits = { key: RATE_LIMIT_PER_MINUTE, page: PAGE_LIMIT_PER_MINUTE, client: FAILURES_PER_MINUTE };
  const kindOf = (context: ExecutionContext) =>
    requestOf(context).caller === null ? reflector.get(LimitClients, context.getClass()) : 'key';
  return {
    storage,
    throttlers: [
      {
        ttl: minutes(1),
        limit: (context) => requestOf(context).caller?.rateLimitPerMinute ?? limits[kindOf(context)],
        skipIf: (context) => kindOf(context) === undefined,
      },
    ],
    getTracker: (_request, context) => trackerOf(requestOf(context)),
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
