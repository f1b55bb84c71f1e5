import { Controller, HttpCode, Param, Post, Req } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { type FeedbackRefusal, RelayFeedbackService } from '#deliverability';
import { LimitClients, ProblemError } from '#platform/http';

const PROBLEMS: Readonly<Record<FeedbackRefusal, () => ProblemError>> = {
  'no-address': () => new ProblemError('not-found', { detail: 'There is no such feedback URL.' }),
  'no-proof': () =>
    new ProblemError('unauthorized', { detail: 'The proof of the provider is missing or wrong.' }),
  unreadable: () =>
    new ProblemError('malformed-json', { detail: 'The body is not what the provider sends.' }),
};

/** Receives the events of relays' providers, authenticated by the signed URL and each provider's own proof. */
@ApiExcludeController()
@Controller('feedback')
@LimitClients('feedback')
export class FeedbackController {
  constructor(private readonly feedback: RelayFeedbackService) {}

  /** Answers 200 once the events are stored; a worker sees to what follows from them. */
  @Post(':kind/:token')
  @HttpCode(200)
  @RouteConfig({ rawBody: true })
  async receive(
    @Param('kind') path: string,
    @Param('token') token: string,
    @Req() { headers, rawBody }: FastifyRequest,
  ) {
    const request = { headers: singleHeaders(headers), body: rawBody ?? Buffer.alloc(0) };
    const outcome = await this.feedback.receive({ path, token, request });
    if (outcome !== 'taken') throw PROBLEMS[outcome]();
  }
}

function singleHeaders(headers: FastifyRequest['headers']): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}
