import { Get, Param, Req, Res } from '@nestjs/common';
import { SkipThrottle } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TrackingService } from '#messaging';
import { notFoundPage } from './not-found-page.js';
import { sendPage, sendRedirect } from './page-reply.js';
import { viewOf } from './page-view.js';
import { PublicPage } from './public-page.decorator.js';
import { trackedRequestOf } from './tracked-request.js';

/** A tracked link of a mail: redirects to its signed target only. */
@PublicPage('l')
@SkipThrottle()
export class TrackedLinkController {
  constructor(private readonly tracking: TrackingService) {}

  @Get(':token')
  async follow(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const url = await this.tracking.follow(token, trackedRequestOf(request.method, request.headers));
    if (url === null) sendPage(reply, notFoundPage(viewOf(request)));
    else sendRedirect(reply, url);
  }
}
