import { Controller, HttpCode, Post, Req } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { StripeEventsService } from '#billing';
import { NotFoundError } from '#kernel';
import { ProblemError } from '#platform/http';

const NO_SNAPSHOT =
  'The body is no event with its object: the endpoint at Stripe must send snapshot payloads, not thin ones.';

/** Receives Stripe's events, authenticated by the signature over the body. */
@ApiExcludeController()
@Controller('stripe/webhooks')
export class StripeWebhooksController {
  constructor(private readonly events: StripeEventsService) {}

  /** Answers 200 once the event is stored; a worker processes it. 404 while Stripe is not configured. */
  @Post()
  @HttpCode(200)
  async receive(@Req() request: FastifyRequest): Promise<{ received: true }> {
    if (!this.events.isOn) throw new NotFoundError();
    const signature = request.headers['stripe-signature'];
    const receipt =
      request.rawBody instanceof Buffer && typeof signature === 'string'
        ? await this.events.receive(request.rawBody, signature)
        : 'foreign';
    if (receipt === 'foreign') throw new ProblemError('unauthorized');
    if (receipt === 'unreadable') throw new ProblemError('validation-error', { detail: NO_SNAPSHOT });
    return { received: true };
  }
}
