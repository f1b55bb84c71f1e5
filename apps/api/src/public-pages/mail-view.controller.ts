import { Get, Inject, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MailViewService } from '#messaging';
import { notFoundPage } from './not-found-page.js';
import { PageLinks } from './page-links.service.js';
import { sendMail, sendPage } from './page-reply.js';
import { viewOf } from './page-view.js';
import { PublicPage } from './public-page.decorator.js';

/** “View in browser”: one recipient's mail as a page. */
@PublicPage('v')
export class MailViewController {
  constructor(
    @Inject(PageLinks) private readonly links: PageLinks,
    @Inject(MailViewService) private readonly mails: MailViewService,
  ) {}

  @Get(':token')
  async show(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.links.open(token, 'view');
    if (link === null || link.expired) return sendPage(reply, notFoundPage(viewOf(request)));
    const mail = await this.mails.render(link.scope, link.id);
    if (mail === null) return sendPage(reply, notFoundPage(viewOf(request)));
    sendMail(reply, mail);
  }
}
