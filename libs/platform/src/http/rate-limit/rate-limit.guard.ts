import { Injectable } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { ThrottlerException, ThrottlerGuard, type ThrottlerRequest } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { UnavailableError } from '#kernel';
import { isUnavailability } from '../../lifecycle/unavailability.js';
import type { RateLimitRecord, RateLimitStorage } from './rate-limit.storage.js';
import { LimitClients } from './rate-limits.js';

/** Refuses requests past the `rateLimits` with 429, and tells a key with every answer where it stands. */
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
    if (request.caller !== null) tellStanding(reply, check.limit, record);
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

function tellStanding(
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
