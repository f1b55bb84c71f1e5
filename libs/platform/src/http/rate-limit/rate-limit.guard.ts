import { type ExecutionContext, Injectable } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { normalizeIp, ThrottlerGuard, type ThrottlerRequest } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { UnavailableError } from '#kernel';
import { isUnavailability } from '../../lifecycle/unavailability.js';
import type { RateLimitRecord, RateLimitStorage } from './rate-limit.storage.js';
import { LimitClients } from './rate-limits.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether it was counted against the limit of its key. */
    isCounted: boolean;
  }
}

/** Refuses what comes past the limits of `rateLimits` with 429, and tells keys with every answer where they stand. */
@Injectable()
@LimitClients('client')
export class RateLimitGuard extends ThrottlerGuard {
  declare protected readonly storageService: RateLimitStorage;

  /** The same for a request that no route of Nest's takes. */
  async checkUnrouted(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    await this.canActivate(new ExecutionContextHost([request, reply], RateLimitGuard, this.checkUnrouted));
  }

  protected override async handleRequest(check: ThrottlerRequest): Promise<boolean> {
    const { context, limit, ttl, throttler } = check;
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const tracker = await this.getTracker(request);
    const key = this.generateKey(context, tracker, throttler.name ?? '');
    request.isCounted = true;
    const record = await this.#increment(key, check);
    if (record === null) return true;
    if (throttler.setHeaders !== false) tellStanding(reply, limit, record);
    if (!record.isBlocked) return true;
    void reply.header('retry-after', String(record.timeToBlockExpire));
    await this.throwThrottlingException(context, { ...record, limit, ttl, key, tracker });
    return false;
  }

  protected override async getTracker({ caller, clientAddress }: FastifyRequest): Promise<string> {
    return caller?.keyId ?? normalizeIp(clientAddress);
  }

  /** One count for all routes. */
  protected override generateKey(_context: ExecutionContext, tracker: string, limit: string): string {
    return `${limit}:${tracker}`;
  }

  /** Null when a page can't be counted: no reader is refused for that. */
  async #increment(
    key: string,
    { limit, ttl, throttler }: ThrottlerRequest,
  ): Promise<RateLimitRecord | null> {
    try {
      return await this.storageService.increment(key, ttl, limit);
    } catch (error) {
      const isAway = error instanceof UnavailableError || isUnavailability(error);
      if (isAway && throttler.name === 'page') return null;
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
