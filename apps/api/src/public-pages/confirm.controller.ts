import { Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { WordedProject } from '#access';
import {
  CONFIRMATION_VALID_MS,
  type ConfirmationDescription,
  ConfirmationsService,
  topicNamesIn,
} from '#audience';
import { MailPagesService } from '#messaging';
import { html, type Html } from '../html.js';
import { formField, visitorOf } from './form-body.js';
import { form, page, type Page, signs, topicList } from './page-layout.js';
import { type PageLink, PageLinksService, viewBy } from './page-links.service.js';
import { addressOf, maskedAddress, privacyLines, say, senderName, type SenderView } from './page-view.js';
import { PublicPage, sendPage } from './public-page.js';

/** The part of a confirmation that its pages show. */
interface ConfirmPageContent {
  readonly email: string;
  readonly topicNames: readonly string[];
}

/** The form field and value that request another confirmation mail. */
const CONFIRM_ACTION = { field: 'action', resend: 'resend' } as const;

const LINK_HOURS = CONFIRMATION_VALID_MS / 3_600_000;

/** Shows the topics to confirm, with a button that confirms them. */
export function confirmPage(view: SenderView, { email, topicNames }: ConfirmPageContent): Page {
  const values = { sender: senderName(view), email: addressOf(email) };
  return page(view, {
    heading: view.wording.text('confirm.heading'),
    sign: signs.letter,
    body: html`<p>${say(view, 'confirm.asked', values)}</p>
      ${topicList(topicNames)}
      <p>${say(view, 'confirm.withdraw')}</p>
      ${form(html`<button>${say(view, 'confirm.button')}</button>`)}
      <p class="quiet">${say(view, 'confirm.ignore')}</p>`,
  });
}

/** Words that the button is pressed under, with the right to withdraw the consent (GDPR Art. 7 (3)). */
export function confirmText(view: SenderView, content: ConfirmPageContent): string {
  const { wording, sender } = view;
  const values = { sender: sender.name, email: maskedAddress(content.email) };
  const asked = wording.text('confirm.asked', values);
  const agreed = [wording.text('confirm.withdraw'), wording.text('confirm.button')];
  return [asked, ...content.topicNames, ...agreed, ...privacyLines(view)].join('\n');
}

export function confirmedPage(view: SenderView, { topicNames }: ConfirmPageContent): Page {
  return page(view, {
    heading: view.wording.text('confirmed.heading'),
    sign: signs.done,
    body: html`<p>${say(view, 'confirmed.topics', { sender: senderName(view) })}</p>
      ${topicList(topicNames)}
      <p class="quiet">${say(view, 'confirmed.changeYourMind')}</p>`,
  });
}

export function alreadyConfirmedPage(view: SenderView, { email, topicNames }: ConfirmPageContent): Page {
  return page(view, {
    heading: view.wording.text('alreadyConfirmed.heading'),
    sign: signs.done,
    body: html`<p>${say(view, 'alreadyConfirmed.text', { email: addressOf(email) })}</p>
      ${topicList(topicNames)}
      <p class="quiet">${say(view, 'alreadyConfirmed.more')}</p>
      ${form(resendButton(view, 'second'))}`,
  });
}

/** 410: the link has expired; offers a new one. */
export function expiredConfirmationPage(view: SenderView, { email, topicNames }: ConfirmPageContent): Page {
  const key = topicNames.length > 0 ? 'confirmExpired.topics' : 'confirmExpired.text';
  return page(view, {
    status: 410,
    heading: view.wording.text('confirmExpired.heading'),
    sign: signs.late,
    body: html`<p>${say(view, key, { hours: LINK_HOURS, email: addressOf(email) })}</p>
      ${topicList(topicNames)} ${form(resendButton(view, 'first'))}`,
  });
}

/** 404: a valid link to something since revoked, erased or stopped. Reveals nothing about the reader. */
export function goneConfirmationPage(view: SenderView): Page {
  return page(view, {
    status: 404,
    heading: view.wording.text('confirmGone.heading'),
    sign: signs.late,
    body: html`<p>${say(view, 'confirmGone.text')}</p>
      ${signUpAgain(view)}`,
  });
}

export function confirmationSentPage(view: SenderView, { email }: ConfirmPageContent): Page {
  return page(view, {
    heading: view.wording.text('confirmSent.heading'),
    sign: signs.letter,
    body: html`<p>${say(view, 'confirmSent.text', { email: addressOf(email) })}</p>
      <p class="quiet">${say(view, 'confirmSent.wait')}</p>`,
  });
}

export function confirmationTooSoonPage(view: SenderView, { email }: ConfirmPageContent): Page {
  return page(view, {
    heading: view.wording.text('confirmTooSoon.heading'),
    sign: signs.late,
    body: html`<p>${say(view, 'confirmTooSoon.text', { email: addressOf(email) })}</p>
      <p class="quiet">${say(view, 'confirmTooSoon.later')}</p>`,
  });
}

/** `topicNames`: what the reader is subscribed to, where all of it was confirmed before. */
export function confirmationNotNeededPage(view: SenderView, { email, topicNames }: ConfirmPageContent): Page {
  const isSubscribed = topicNames.length > 0;
  const key = isSubscribed ? 'confirmNotNeeded.subscribed' : 'confirmNotNeeded.text';
  return page(view, {
    heading: view.wording.text('confirmNotNeeded.heading'),
    sign: signs.done,
    body: html`<p>${say(view, key, { email: addressOf(email) })}</p>
      ${topicList(topicNames)}
      ${isSubscribed ? html`<p class="quiet">${say(view, 'confirmed.changeYourMind')}</p>` : signUpAgain(view)}`,
  });
}

function signUpAgain(view: SenderView): Html {
  return html`<p class="quiet">${say(view, 'page.signUpAgain', { sender: senderName(view) })}</p>`;
}

function resendButton(view: SenderView, weight: 'first' | 'second'): Html {
  return html`<button class="${weight}" name="${CONFIRM_ACTION.field}" value="${CONFIRM_ACTION.resend}">
    ${say(view, 'confirm.resend')}
  </button>`;
}

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

/** A page of a confirmation request, in the reader's language. */
interface ShownRequest {
  readonly view: SenderView;
  readonly content: ConfirmPageContent;
}

/** Double opt-in: the page that a confirmation mail links to. */
@PublicPage('c')
export class ConfirmController {
  constructor(
    private readonly links: PageLinksService,
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
    const link = await this.links.open(token, 'confirm');
    sendPage(reply, await this.#statePage(link, request));
  }

  @Post(':token')
  async act(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.links.open(token, 'confirm');
    // The link has its own expiry, besides that of the confirmation request.
    const asksAgain = formField(request, CONFIRM_ACTION.field) === CONFIRM_ACTION.resend;
    if (asksAgain) sendPage(reply, await this.#resend(link, request));
    else
      sendPage(reply, await (link.expired ? this.#statePage(link, request) : this.#confirm(link, request)));
  }

  async #statePage(link: PageLink, request: FastifyRequest): Promise<Page> {
    const { id, scope, expired } = link;
    const [description, senders] = await this.confirmations.describe(scope, id, this.links.reading(link));
    const { view, content } = shownTo(request, senders, description);
    const { state } = description;
    return STATE_PAGES[state === 'open' && expired ? 'expired' : state](view, content);
  }

  #confirm(link: PageLink, request: FastifyRequest): Promise<Page> {
    const { id, scope } = link;
    const beside = [this.links.reading(link), this.mails.readingConfirmationMail(scope, id)] as const;
    return this.confirmations.whileLocked(scope, id, beside, async (locked, senders, [mail]) => {
      const { view, content } = shownTo(request, senders, locked.description);
      const wording = { locale: view.wording.locale, version: view.version };
      const consentText = confirmText(view, content);
      const messageId = mail?.messageId ?? null;
      const person = { ...visitorOf(request), messageId, wording, consentText };
      return CONFIRM_PAGES[await this.confirmations.confirm(scope, locked, person)](view, content);
    });
  }

  #resend(link: PageLink, request: FastifyRequest): Promise<Page> {
    const { id, scope } = link;
    return this.confirmations.whileLocked(scope, id, [this.links.reading(link)], async (locked, senders) => {
      const { state } = locked.description;
      const { view, content } = shownTo(request, senders, locked.description);
      if (state === 'gone') return goneConfirmationPage(view);
      const outcome = await this.confirmations.requestAnother(scope, locked);
      if (outcome !== 'not-needed') return RESEND_PAGES[outcome](view, content);
      const topicNames = state === 'confirmed' ? content.topicNames : [];
      return confirmationNotNeededPage(view, { ...content, topicNames });
    });
  }
}

function shownTo(
  request: FastifyRequest,
  senders: readonly WordedProject[],
  { email, topics, locale }: ConfirmationDescription,
): ShownRequest {
  const view = viewBy(senders, request, [locale]);
  return { view, content: { email, topicNames: topicNamesIn(topics, view.locale) } };
}
