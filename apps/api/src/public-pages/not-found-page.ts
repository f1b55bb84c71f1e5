import { html } from '../html.js';
import { page, type Page, signs } from './page-layout.js';
import { type PageView, say, senderName, type SenderView } from './page-view.js';

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

/** 429: one address made far more requests than a reader would. */
export function tooManyPages(view: PageView): Page {
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
