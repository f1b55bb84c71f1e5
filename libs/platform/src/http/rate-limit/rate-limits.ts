import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { minutes, type ThrottlerModuleOptions, type ThrottlerOptions } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import type { Config } from '../../config/config.js';
import type { RateLimitStorage } from './rate-limit.storage.js';

/** Requests a minute and client network that may come without a valid key. */
const FAILURES_PER_MINUTE = 60;

/** Limits a controller's requests without a key, by the network of the client: as pages, or as failures to authenticate. */
export const LimitClients = Reflector.createDecorator<'page' | 'client'>();

/** Requests a minute: of a key, of a reader of pages, and of a client without a valid key. */
export function rateLimits(
  { RATE_LIMIT_PER_MINUTE, PAGE_LIMIT_PER_MINUTE }: Config,
  storage: RateLimitStorage,
  reflector: Reflector,
): ThrottlerModuleOptions {
  const ofKey = {
    name: 'key',
    ttl: minutes(1),
    limit: (context: ExecutionContext) => callerOf(context)?.rateLimitPerMinute ?? RATE_LIMIT_PER_MINUTE,
    skipIf: (context: ExecutionContext) => callerOf(context) === null,
  };
  const ofClients = (name: 'page' | 'client', limit: number): ThrottlerOptions => ({
    name,
    ttl: minutes(1),
    limit,
    setHeaders: false,
    skipIf: (context) =>
      callerOf(context) !== null || reflector.get(LimitClients, context.getClass()) !== name,
  });
  return {
    storage,
    errorMessage: (_context, { timeToBlockExpire }) => `Try again in ${timeToBlockExpire} s.`,
    throttlers: [ofKey, ofClients('page', PAGE_LIMIT_PER_MINUTE), ofClients('client', FAILURES_PER_MINUTE)],
  };
}

function callerOf(context: ExecutionContext) {
  return context.switchToHttp().getRequest<FastifyRequest>().caller;
}
