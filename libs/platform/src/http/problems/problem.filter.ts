import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { isOfOutage } from '../../lifecycle/outage.js';
import { problemOf } from './problem-of-error.js';
import type { ProblemWriter } from './problem-writer.js';
import { isVanishedReference } from './vanished-reference.js';

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
    const problem = problemOf(error, request.routeOptions.url?.includes(':') ?? false);
    if (problem.slug === 'internal-error') this.#log('error', 'request failed', error, request);
    else if ((problem.slug === 'unavailable' && !isOfOutage(error)) || isVanishedReference(error))
      this.#log('warn', 'request could not be served', error, request);
    if (!reply.sent) this.writer.send(problem, request, reply);
    else if (!reply.raw.writableEnded) reply.raw.destroy();
  }

  #log(level: 'error' | 'warn', message: string, error: unknown, request: FastifyRequest): void {
    const where = { requestId: request.id, method: request.method, route: request.routeOptions.url };
    this.logger[level]({ ...where, err: error }, message);
  }
}
