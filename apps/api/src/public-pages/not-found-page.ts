import { html } from './html.js';
import { page, type Page, signs } from './page-layout.js';

/** 404 for a link that is forged, mangled or of something that is gone: all look the same. */
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

/** When we could not answer; `status` 500, or 503 when it is worth trying again soon. */
export function failurePage(status: 500 | 503): Page {
  return page({
    status,
    heading: 'Something went wrong',
    sign: signs.trouble,
    sender: null,
    body: html` <p>That was our fault, not yours. Please wait a few minutes and try again.</p>`,
  });
}
