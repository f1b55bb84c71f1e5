import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { minutes, normalizeIp, type ThrottlerModuleOptions, type ThrottlerOptions } from '@nestjs/throttler';
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
  const limitOf = (context: ExecutionContext) =>
    callerOf(context)?.rateLimitPerMinute ?? RATE_LIMIT_PER_MINUTE;
  const clients = (name: 'page' | 'client', limit: number): ThrottlerOptions => ({
    name,
    ttl: minutes(1),
    limit,
    skipIf: (context) =>
      callerOf(context) !== null || reflector.get(LimitClients, context.getClass()) !== name,
  });
  return {
    storage,
    getTracker: (_request, context) => trackerOf(context.switchToHttp().getRequest()),
    // Not by handler, as it is by default.
    generateKey: (_context, tracker, name) => `${name}:${tracker}`,
    throttlers: [
      { name: 'key', ttl: minutes(1), limit: limitOf, skipIf: (context) => callerOf(context) === null },
      clients('page', PAGE_LIMIT_PER_MINUTE),
      clients('client', FAILURES_PER_MINUTE),
    ],
  };
}

function callerOf(context: ExecutionContext) {
  return context.switchToHttp().getRequest<FastifyRequest>().caller;
}

/** An IPv6 address counts as its first 64 bits, which one subscriber line has (RFC 6177 §2). */
function trackerOf({ caller, clientAddress }: FastifyRequest): string {
  return caller?.keyId ?? normalizeIp(clientAddress);
}
