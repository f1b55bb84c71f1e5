import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { HttpMetrics } from '../../metrics/http-metrics.js';
import { OPERATIONS_PATHS } from '../../operations/operations.js';

const NO_ROUTE = '(none)';
const PROBES: ReadonlySet<string> = new Set(OPERATIONS_PATHS);

/** One line and one count for each request. The route's pattern stands for the path, which may hold an address. */
export class RequestLog {
  constructor(
    private readonly logger: Logger,
    private readonly metrics: HttpMetrics,
  ) {}

  answered(request: FastifyRequest, reply: FastifyReply): void {
    const { method } = request;
    const route = request.routeOptions.url ?? NO_ROUTE;
    const status = reply.statusCode;
    const ms = Math.round(reply.elapsedTime * 10) / 10;
    this.metrics.answered(method, route, status, ms / 1000);
    const { keyId, scope } = request.caller ?? {};
    const fields = {
      requestId: request.id,
      method,
      route,
      status,
      ms,
      keyId,
      environmentId: scope?.environmentId,
    };
    if (PROBES.has(route)) this.logger.debug(fields, 'request');
    else this.logger.info(fields, 'request');
  }
}
