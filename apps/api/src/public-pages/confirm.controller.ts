import { Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ConfirmationsService } from '#audience';
import { MailPagesService } from '#messaging';
import {
  alreadyConfirmedPage,
  CONFIRM_ACTION,
  confirmationNotNeededPage,
  confirmationSentPage,
  confirmationTooSoonPage,
  confirmedPage,
  type ConfirmPageContent,
  confirmPage,
  expiredConfirmationPage,
  goneConfirmationPage,
} from './confirm-page.js';
import { formField } from './form-body.js';
import { notFoundPage } from './not-found-page.js';
import type { Page } from './page-layout.js';
import { type PageLink, PageLinks } from './page-links.service.js';
import { sendPage } from './page-reply.js';
import { PublicPage } from './public-page.decorator.js';
import { visitorOf } from './visitor.js';

const STATE_PAGES = {
  open: confirmPage,
  confirmed: alreadyConfirmedPage,
  expired: expiredConfirmationPage,
  gone: goneConfirmationPage,
};
const CONFIRM_PAGES = {
  confirmed: confirmedPage,
  'already-confirmed': alreadyConfirmedPage,
  expired: expiredConfirmationPage,
  gone: goneConfirmationPage,
};
const RESEND_PAGES = {
  sent: confirmationSentPage,
  'too-soon': confirmationTooSoonPage,
  'not-needed': confirmationNotNeededPage,
};

/** Double opt-in: the page that a confirmation mail links to. */
@PublicPage('c')
export class ConfirmController {
  constructor(
    @Inject(PageLinks) private readonly links: PageLinks,
    @Inject(ConfirmationsService) private readonly confirmations: ConfirmationsService,
    @Inject(MailPagesService) private readonly mails: MailPagesService,
  ) {}

  /** Confirms nothing: mail scanners follow links. */
  @Get(':token')
  async show(@Param('token') token: string, @Res() reply: FastifyReply): Promise<void> {
    const link = await this.links.open(token, 'confirm');
    if (link === null) return sendPage(reply, notFoundPage);
    const { state, ...about } = await this.confirmations.describe(link.scope, link.id);
    const shown = state === 'open' && link.expired ? 'expired' : state;
    sendPage(reply, STATE_PAGES[shown]({ sender: link.sender, ...about }));
  }

  @Post(':token')
  async act(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.links.open(token, 'confirm');
    if (link === null) return sendPage(reply, notFoundPage);
    const { state, ...about } = await this.confirmations.describe(link.scope, link.id);
    const content = { sender: link.sender, ...about };
    if (state === 'gone') return sendPage(reply, goneConfirmationPage(content));
    if (formField(request, CONFIRM_ACTION.field) === CONFIRM_ACTION.resend)
      return sendPage(reply, await this.#resend(link, content));
    // The link has its own expiry, besides that of the confirmation request.
    if (state === 'open' && link.expired) return sendPage(reply, expiredConfirmationPage(content));
    sendPage(reply, await this.#confirm(link, content, request));
  }

  async #confirm(link: PageLink, content: ConfirmPageContent, request: FastifyRequest): Promise<Page> {
    const messageId = await this.mails.confirmationMessageId(link.scope, link.id);
    const person = { ...visitorOf(request), messageId };
    const outcome = await this.confirmations.confirm(link.scope, link.id, person);
    return CONFIRM_PAGES[outcome](content);
  }

  async #resend(link: PageLink, content: ConfirmPageContent): Promise<Page> {
    const outcome = await this.confirmations.requestAnother(link.scope, link.id);
    return RESEND_PAGES[outcome](content);
  }
}
