import { html } from './html.js';
import { page, type Page, signs } from './page-layout.js';
import { type PageView, say } from './page-view.js';

/** 404 for a forged, mangled or outdated link: all look the same. */
export function notFoundPage(view: PageView): Page {
  return page(view, {
    status: 404,
    heading: view.wording.text('notFound.heading'),
    sign: signs.lost,
    body: html`<p>${say(view, 'notFound.text')}</p>`,
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
