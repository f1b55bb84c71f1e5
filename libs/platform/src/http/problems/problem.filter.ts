import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { problemOf } from './problem-of-error.js';
import type { ProblemWriter } from './problem-writer.js';

/** Turns whatever is thrown into its problem; what nobody foresaw is logged here, once. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly writer: ProblemWriter,
    private readonly logger: Logger,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  /** The same for errors that do not come through Nest. */
  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const problem = problemOf(error);
    if (problem.slug === 'internal-error' || problem.slug === 'unavailable')
      this.#log(problem.slug, error, request);
    if (!reply.sent) this.writer.send(problem, request, reply);
    else if (!reply.raw.writableEnded) reply.raw.destroy();
  }

  #log(slug: 'internal-error' | 'unavailable', error: unknown, request: FastifyRequest): void {
    const where = { requestId: request.id, method: request.method, route: request.routeOptions.url };
    if (slug === 'internal-error') this.logger.error({ ...where, err: error }, 'request failed');
    else this.logger.warn({ ...where, err: error }, 'request could not be served');
  }
}
