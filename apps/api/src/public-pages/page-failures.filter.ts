import { type ArgumentsHost, Catch, type ExceptionFilter, Inject } from '@nestjs/common';
import { ThrottlerException } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { NotFoundError, UnavailableError } from '#kernel';
import { describeError, isOfOutage, LOGGER } from '#platform';
import { isUnavailability } from '#platform/http';
import { failurePage, notFoundPage, tooManyPages } from './not-found-page.js';
import { sendPage } from './page-reply.js';
import { viewOf } from './page-view.js';

const RETRY_AFTER_SECONDS = 1;

/** Answers failures with a page for readers, where the API answers with a problem. */
@Catch()
export class PageFailures implements ExceptionFilter {
  constructor(@Inject(LOGGER) private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const reply = http.getResponse<FastifyReply>();
    const request = http.getRequest<FastifyRequest>();
    const view = viewOf(request);
    if (error instanceof NotFoundError) return sendPage(reply, notFoundPage(view));
    if (error instanceof ThrottlerException) return sendPage(reply, tooManyPages(view));
    if (error instanceof UnavailableError) {
      return sendPage(reply.header('retry-after', error.retryAfterSeconds), failurePage(view, 503));
    }
    const isAway = isUnavailability(error);
    if (!isOfOutage(error))
      this.logger[isAway ? 'warn' : 'error'](
        { requestId: request.id, error: describeError(error) },
        isAway ? 'public page could not be served' : 'public page failed',
      );
    if (isAway) return sendPage(reply.header('retry-after', RETRY_AFTER_SECONDS), failurePage(view, 503));
    sendPage(reply, failurePage(view, 500));
  }
}
