import type { FastifyReply } from 'fastify';
import type { Page } from './page-layout.js';

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
const MAIL_POLICY =
  "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; img-src * data:; font-src *; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

/** Answers with one of our pages. */
export function sendPage(reply: FastifyReply, page: Page): void {
  const headers = { 'content-language': page.language, vary: 'Accept-Language' };
  sendHtml(reply.status(page.status).headers(headers), page.html.toString(), page.policy);
}

/** Answers with the HTML of a mail, locked in a sandbox. */
export function sendMail(reply: FastifyReply, mail: { html: string; language: string }): void {
  sendHtml(reply.status(200).header('content-language', mail.language), mail.html, MAIL_POLICY);
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
