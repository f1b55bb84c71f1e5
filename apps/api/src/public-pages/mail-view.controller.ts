import { Controller, Get, Inject, Param, Res, UseFilters, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { MailViewService } from '#messaging';
import { notFoundPage } from './not-found-page.js';
import { PageFailures } from './page-failures.filter.js';
import { PageLimit } from './page-limit.guard.js';
import { PageLinks } from './page-links.service.js';
import { sendMail, sendPage } from './page-reply.js';

/** “View in browser”: one recipient's mail as a page. */
@ApiExcludeController()
@UseFilters(PageFailures)
@UseGuards(PageLimit)
@Controller('v')
export class MailViewController {
  constructor(
    @Inject(PageLinks) private readonly links: PageLinks,
    @Inject(MailViewService) private readonly mails: MailViewService,
  ) {}

  @Get(':token')
  async show(@Param('token') token: string, @Res() reply: FastifyReply): Promise<void> {
    const link = await this.links.open(token, 'view');
    if (link === null || link.expired) return sendPage(reply, notFoundPage);
    const mail = await this.mails.render(link.scope, link.id);
    if (mail === null) return sendPage(reply, notFoundPage);
    sendMail(reply, mail.html);
  }
}
