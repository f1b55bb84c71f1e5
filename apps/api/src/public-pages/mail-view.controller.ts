import { Get, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { NotFoundError } from '#kernel';
import { MailViewService } from '#messaging';
import { html } from '../html.js';
import { goneMailPage, PublicPage, sendMail, sendPage } from './public-page.js';
import { PageLinksService } from './page-links.service.js';
import { type PageView, viewOf } from './page-view.js';

/** “View in browser”: one recipient's mail as a page. */
@PublicPage('v')
export class MailViewController {
  constructor(
    private readonly links: PageLinksService,
    private readonly mails: MailViewService,
  ) {}

  @Get(':token')
  async show(
    @Param('token') token: string,
    @Query('d') sealed: unknown,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.links.open(token, 'view');
    if (link.expired) throw new NotFoundError();
    const mail = await this.mails.ofDelivery(link.scope, link.id, typeof sealed === 'string' ? sealed : null);
    if (mail === null) return sendPage(reply, goneMailPage(viewOf(request)));
    if (!mail.isOfToday) return sendMail(reply, mail);
    sendMail(reply, { ...mail, html: withNotice(mail.html, viewOf(request, [mail.locale])) });
  }
}

const NOTICE =
  'margin:0;padding:12px 24px;background-color:#fff4d6;color:#3d2f00;font:16px/1.5 sans-serif;text-align:start';

/** The mail with a line above it which says that it may not be what was sent. */
function withNotice(mail: string, { wording }: PageView): string {
  const words = wording.text('gone.today');
  const notice = html`<p lang="${wording.locale}" dir="${wording.direction}" style="${NOTICE}">${words}</p>`;
  return mail.replace(/<body[^>]*>/i, (body) => body + notice.toString());
}
