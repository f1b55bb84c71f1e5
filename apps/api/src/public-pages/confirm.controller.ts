import { Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ConfirmationDescription, ConfirmationsService, topicNamesIn } from '#audience';
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
  confirmText,
  expiredConfirmationPage,
  goneConfirmationPage,
} from './confirm-page.js';
import { formField } from './form-body.js';
import { notFoundPage } from './not-found-page.js';
import type { Page } from './page-layout.js';
import { type PageLink, PageLinks } from './page-links.service.js';
import { sendPage } from './page-reply.js';
import { type SenderView, viewOf } from './page-view.js';
import { PageViews } from './page-views.service.js';
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
};

interface OpenedConfirmation {
  readonly link: PageLink;
  readonly state: ConfirmationDescription['state'];
  readonly view: SenderView;
  readonly content: ConfirmPageContent;
}

/** Double opt-in: the page that a confirmation mail links to. */
@PublicPage('c')
export class ConfirmController {
  constructor(
    private readonly links: PageLinks,
    private readonly views: PageViews,
    private readonly confirmations: ConfirmationsService,
    private readonly mails: MailPagesService,
  ) {}

  /** Confirms nothing: mail scanners follow links. */
  @Get(':token')
  async show(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const opened = await this.#open(token, request);
    if (opened === null) return sendPage(reply, notFoundPage(viewOf(request)));
    const { link, state, view, content } = opened;
    const shown = state === 'open' && link.expired ? 'expired' : state;
    sendPage(reply, STATE_PAGES[shown](view, content));
  }

  @Post(':token')
  async act(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const opened = await this.#open(token, request);
    if (opened === null) return sendPage(reply, notFoundPage(viewOf(request)));
    const { link, state, view, content } = opened;
    if (state === 'gone') return sendPage(reply, goneConfirmationPage(view));
    if (formField(request, CONFIRM_ACTION.field) === CONFIRM_ACTION.resend)
      return sendPage(reply, await this.#resend(opened));
    // The link has its own expiry, besides that of the confirmation request.
    if (state === 'open' && link.expired) return sendPage(reply, expiredConfirmationPage(view, content));
    sendPage(reply, await this.#confirm(opened, request));
  }

  async #open(token: string, request: FastifyRequest): Promise<OpenedConfirmation | null> {
    const link = await this.links.open(token, 'confirm');
    if (link === null) return null;
    const { state, email, topics, locale } = await this.confirmations.describe(link.scope, link.id);
    const view = await this.views.of(request, link, [locale]);
    return { link, state, view, content: { email, topicNames: topicNamesIn(topics, view.locale) } };
  }

  async #confirm({ link, view, content }: OpenedConfirmation, request: FastifyRequest): Promise<Page> {
    const messageId = await this.mails.confirmationMessageId(link.scope, link.id);
    const wording = { locale: view.wording.locale, version: view.version };
    const consentText = confirmText(view, content);
    const person = { ...visitorOf(request), messageId, wording, consentText };
    const outcome = await this.confirmations.confirm(link.scope, link.id, person);
    return CONFIRM_PAGES[outcome](view, content);
  }

  async #resend({ link, state, view, content }: OpenedConfirmation): Promise<Page> {
    const outcome = await this.confirmations.requestAnother(link.scope, link.id);
    const topicNames = state === 'confirmed' ? content.topicNames : [];
    return outcome === 'not-needed'
      ? confirmationNotNeededPage(view, { ...content, topicNames })
      : RESEND_PAGES[outcome](view, content);
  }
}
