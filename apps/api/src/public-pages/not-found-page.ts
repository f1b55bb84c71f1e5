import { html } from './html.js';
import { page, type Page, signs } from './page-layout.js';

/** 404 for a forged, mangled or outdated link: all look the same. */
export const notFoundPage: Page = page({
  status: 404,
  heading: 'This link doesn’t work',
  sign: signs.lost,
  sender: null,
  body: html` <p>
    Part of the link may have got lost on the way. Please open it once more from the mail itself, or copy the
    whole address into your browser.
  </p>`,
});

/** 429: one address made far more requests than a reader would. */
export const tooManyPages: Page = page({
  status: 429,
  heading: 'Please wait a moment',
  sign: signs.trouble,
  sender: null,
  body: html` <p>
    A great many pages were opened from your network within a minute. Please try again in a minute: the link
    stays good.
  </p>`,
});

/** A failure of ours; `status` 500, or 503 when trying again soon may help. */
export function failurePage(status: 500 | 503): Page {
  return page({
    status,
    heading: 'Something went wrong',
    sign: signs.trouble,
    sender: null,
    body: html` <p>That was our fault, not yours. Please wait a few minutes and try again.</p>`,
  });
}
