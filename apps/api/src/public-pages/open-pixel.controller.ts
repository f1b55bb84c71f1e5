import { Get, Param, Req, Res } from '@nestjs/common';
import { SkipThrottle } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TrackingService } from '#messaging';
import { notFoundPage } from './not-found-page.js';
import { sendImage, sendPage } from './page-reply.js';
import { viewOf } from './page-view.js';
import { PIXEL } from './pixel.js';
import { PublicPage } from './public-page.decorator.js';
import { trackedRequestOf } from './tracked-request.js';

/** The tracking pixel at the end of a mail. */
@PublicPage('o')
@SkipThrottle()
export class OpenPixelController {
  constructor(private readonly tracking: TrackingService) {}

  @Get(':token')
  open(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    if (this.tracking.open(token, trackedRequestOf(request.method, request.headers))) {
      sendImage(reply, PIXEL, 'image/gif');
    } else sendPage(reply, notFoundPage(viewOf(request)));
  }
}
