import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { UnavailableError } from '#kernel';
import { type Config, CONFIG } from '#platform';
import { isUnavailability, RateLimiter } from '#platform/http';

/** A client that asks for more pages than any crowd of readers behind one address would. */
export class TooManyPagesError extends Error {
  constructor(readonly retryAfterSeconds: number) {
    super('Too many pages were asked for.');
  }
}

/**
 * Counts the pages that a client asks for. Whoever unsubscribes is never refused: mailbox providers post for all of
 * their users from few addresses (RFC 8058). Nor is anybody when the count itself is not to be had.
 */
@Injectable()
export class PageLimit implements CanActivate {
  constructor(
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (request.method === 'POST' && request.routeOptions.url === '/u/:token') return true;
    const wait = await this.#secondsToWait(request.clientAddress);
    if (wait !== null) throw new TooManyPagesError(wait);
    return true;
  }

  async #secondsToWait(clientAddress: string): Promise<number | null> {
    try {
      const limit = await this.limiter.countClient('page', clientAddress, this.config.PAGE_LIMIT_PER_MINUTE);
      return limit.exceeded ? limit.retryAfterSeconds : null;
    } catch (error) {
      if (error instanceof UnavailableError || isUnavailability(error)) return null;
      throw error;
    }
  }
}
