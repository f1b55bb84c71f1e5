import type { FastifyReply, FastifyRequest } from 'fastify';
import { UnavailableError } from '#kernel';
import type { IdempotencyGuard } from '../idempotency/idempotency.guard.js';
import type { OperationOptions } from '../operation/operation-options.js';
import type { ProblemFilter } from '../problems/problem.filter.js';

declare module 'fastify' {
  interface FastifyRequest {
    deadline: NodeJS.Timeout | null;
  }
}

/** A body that is streamed may take its time to arrive. */
const STREAMED_MS = 600_000;

/**
 * How long a request may take from its first byte to its answer; then it is answered with 503. Fastify's own
 * `handlerTimeout` ends with the body: it stops its timer when the request stream closes.
 */
export class Deadline {
  constructor(
    private readonly problems: ProblemFilter,
    private readonly idempotency: IdempotencyGuard,
    private readonly usualMs: number,
  ) {}

  start(request: FastifyRequest, reply: FastifyReply): void {
    request.deadline = setTimeout(() => {
      if (reply.sent) return;
      this.idempotency.timedOut(request);
      this.problems.answer(new UnavailableError('The request took too long.', 1), request, reply);
    }, this.#allowedMs(request.routeOptions.config.operation));
  }

  stop(request: FastifyRequest): void {
    if (request.deadline !== null) clearTimeout(request.deadline);
  }

  #allowedMs(operation: OperationOptions | undefined): number {
    return operation?.timeoutMs ?? (operation?.streams === undefined ? this.usualMs : STREAMED_MS);
  }
}
