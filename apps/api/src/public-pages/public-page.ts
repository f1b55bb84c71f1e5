import {
  applyDecorators,
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Inject,
  UseFilters,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { ThrottlerException } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { NotFoundError, UnavailableError } from '#kernel';
import { describeError, isOfOutage, LOGGER } from '#platform';
import { isUnavailability, LimitClients } from '#platform/http';
import { html } from '../html.js';
import { type Page, page, signs } from './page-layout.js';
import { type PageView, say, senderName, type SenderView, viewOf } from './page-view.js';

const RETRY_AFTER_SECONDS = 1;

/** Tokens authorise: keep them out of caches, search engines and the logs of other sites. */
export const PRIVATE_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
  'x-content-type-options': 'nosniff',
} as const;

/**
 * A mail is untrusted HTML: no scripts, forms or origin. Its links may open a new tab, as most mails ask for
 * (`target="_blank"`), outside the sandbox.
 */
const mailPolicy = (framedBy: 'self' | 'none') =>
  `sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; img-src * data:; font-src *; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors '${framedBy}'`;

/** Answers with one of our pages. */
export function sendPage(reply: FastifyReply, shown: Page): void {
  const headers = { 'content-language': shown.language, vary: 'Accept-Language' };
  sendHtml(reply.status(shown.status).headers(headers), shown.html.toString(), shown.policy);
}

/** Answers with the HTML of a mail, locked in a sandbox, which only a page of ours may frame. */
export function sendMail(
  reply: FastifyReply,
  mail: { readonly html: string; readonly language: string },
  { framedBy }: { readonly framedBy: 'self' | 'none' } = { framedBy: 'none' },
): void {
  sendHtml(reply.status(200).header('content-language', mail.language), mail.html, mailPolicy(framedBy));
}

/** Answers a machine with a line of text. */
export function sendText(reply: FastifyReply, text: string, language: string, status = 200): void {
  const headers = { ...PRIVATE_HEADERS, 'content-language': language, vary: 'Accept-Language' };
  void reply.status(status).headers(headers).type('text/plain; charset=utf-8').send(text);
}

/** Redirects to another site. */
export function sendRedirect(reply: FastifyReply, url: string): void {
  void reply
    .status(302)
    .headers({ ...PRIVATE_HEADERS, location: url })
    .send();
}

/** Answers with an image. */
export function sendImage(reply: FastifyReply, image: Buffer, type: string): void {
  void reply.status(200).headers(PRIVATE_HEADERS).type(type).send(image);
}

/** Answers with a PDF that a browser shows and saves as `name`. */
export function sendPdf(reply: FastifyReply, pdf: Buffer, name: string): void {
  void reply
    .status(200)
    .headers({ ...PRIVATE_HEADERS, 'content-disposition': `inline; filename="${name}"` })
    .type('application/pdf')
    .send(pdf);
}

function sendHtml(reply: FastifyReply, markup: string, policy: string): void {
  void reply
    .headers({ ...PRIVATE_HEADERS, 'content-security-policy': policy })
    .type('text/html; charset=utf-8')
    .send(markup);
}

/** 404 for a forged, mangled or outdated link: all look the same. */
export function notFoundPage(view: PageView): Page {
  return page(view, {
    status: 404,
    heading: view.wording.text('notFound.heading'),
    sign: signs.lost,
    body: html`<p>${say(view, 'notFound.text')}</p>`,
  });
}

/** A link of a subscriber who was erased: nothing can be changed, and nothing is claimed to be. */
export function addressGonePage(view: SenderView, status: 200 | 404): Page {
  const { contact = null } = view.sender;
  const text = say(view, 'addressGone.text', { sender: senderName(view) });
  return page(view, {
    status,
    heading: view.wording.text('addressGone.heading'),
    sign: signs.lost,
    body: html`<p>${text}</p>
      ${contact === null ? null : html`<p>${say(view, 'addressGone.contact', { contact: html`<bdi dir="ltr">${contact}</bdi>` })}</p>`}`,
  });
}

/** The same in a line, for a program. */
export function addressGoneText({ wording, sender }: SenderView): string {
  const text = wording.text('addressGone.text', { sender: sender.name });
  const { contact = null } = sender;
  return contact === null ? text : `${text} ${wording.text('addressGone.contact', { contact })}`;
}

/** 404 for a good link to a mail that cannot be shown any more: it is not kept, or its reader was erased. */
export function goneMailPage(view: PageView): Page {
  return page(view, {
    status: 404,
    heading: view.wording.text('gone.heading'),
    sign: signs.lost,
    body: html`<p>${say(view, 'gone.text')}</p>`,
  });
}

/** 410 for a link whose time is over, and of which its owner can make another. */
export function expiredLinkPage(view: PageView): Page {
  return page(view, {
    status: 410,
    heading: view.wording.text('confirmExpired.heading'),
    sign: signs.late,
    body: html`<p>${say(view, 'reportExpired.text')}</p>`,
  });
}

/** 429: one address made far more requests than a reader would. */
function tooManyPages(view: PageView): Page {
  return page(view, {
    status: 429,
    heading: view.wording.text('tooMany.heading'),
    sign: signs.trouble,
    body: html`<p>${say(view, 'tooMany.text')}</p>`,
  });
}

/** A failure of ours; `status` 500, or 503 when trying again soon may help. */
export function failurePage(view: PageView, status: 500 | 503): Page {
  return page(view, {
    status,
    heading: view.wording.text('failure.heading'),
    sign: signs.trouble,
    body: html`<p>${say(view, 'failure.text')}</p>`,
  });
}

/** Answers failures with a page for readers, where the API answers with a problem. */
@Catch()
class PageFailures implements ExceptionFilter {
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

/** A controller of pages for people, without a key. Each client may request PAGE_LIMIT_PER_MINUTE pages. */
export function PublicPage(path: string): ClassDecorator {
  return applyDecorators(
    Controller(path),
    ApiExcludeController(),
    UseFilters(PageFailures),
    LimitClients('page'),
  );
}
