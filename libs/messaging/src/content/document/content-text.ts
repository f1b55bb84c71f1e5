import { convert, type HtmlToTextOptions } from 'html-to-text';
import { escapeHtml } from '#kernel';
import type { MergeTagMask } from '../merge/merge-tags.js';

const AS_WRITTEN = { uppercase: false };

const OPTIONS: HtmlToTextOptions = {
  wordwrap: 78,
  formatters: {
    alternative: (element, _walk, builder) => {
      const alt: unknown = element.attribs?.['alt'];
      if (typeof alt === 'string' && alt !== '') builder.addInline(alt);
    },
    // Without its scheme, which an address alone does without, a query would be part of the address.
    mailWithQuery: (element, walk, builder) => {
      walk(element.children, builder);
      builder.addInline(` <${String(element.attribs?.['href'])}>`, { noWordTransform: true });
    },
    cell: (element, walk, builder) => {
      walk(element.children, builder);
      builder.addInline(' ');
    },
  },
  selectors: [
    { selector: 'head', format: 'skip' },
    // Repeated, so that no other selector here goes before it.
    { selector: '[hidden][hidden][hidden]', format: 'skip' },
    { selector: 'img', format: 'alternative' },
    { selector: 'tr', format: 'block', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    // Tables that only hold the layout: the content of their cells decides where lines end.
    { selector: 'table[role="presentation"] > tr', format: 'inline' },
    { selector: 'table[role="presentation"] > tbody > tr', format: 'inline' },
    { selector: 'td', format: 'cell' },
    { selector: 'th', format: 'cell' },
    {
      selector: 'a',
      options: { linkBrackets: ['<', '>'], hideLinkHrefIfSameAsText: true, noAnchorUrl: true },
    },
    { selector: 'a[href^="mailto:"][href*="?"]', format: 'mailWithQuery' },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: AS_WRITTEN })),
    { selector: 'hr', options: { length: 40 } },
  ],
};

/** Beginnings of tags with a style that no merge tag decides. */
const STYLED = /<\w[^>]*?\sstyle="([^"\uFDD0\uFDD2]*)"/g;
/** A style that shows nothing of its element. */
export const NOT_DISPLAYED = /display\s*:\s*none/i;

/** Masked plain text of masked HTML, without what is hidden from everybody, wrapped at 78 characters. */
export function htmlToPlainText(maskedHtml: string): string {
  const html = maskedHtml.replaceAll(STYLED, (tag, style: string) =>
    NOT_DISPLAYED.test(style) ? `${tag} hidden` : tag,
  );
  const lines = convert(html, OPTIONS)
    .split('\n')
    .map((line) => line.trimEnd());
  return lines
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .replaceAll(TAG_PARAGRAPH, (_, before: string, tags: string, after: string) => {
      const kept = before === '' ? 0 : Math.max(0, after.length - before.length);
      return tags.replaceAll(/[ \t]/g, '') + '\n'.repeat(kept);
    })
    .trim();
}

/** Tags alone between line breaks of which those around what they enclose are left when they are filled in. */
const TAG_PARAGRAPH = /(?<=(^|\n+))([ \t]*(?:\uFDD2\d+\uFDD1[ \t]*)+)(\n+)/g;
const TAG_LINE = /^[ \t]*(?:\uFDD2\d+\uFDD1[ \t]*)+\r?\n/gm;

/** Masked text without the ends of lines that hold tags alone: a loop would leave one for each of its turns. */
export const withoutTagLines = (masked: string): string =>
  masked.replaceAll(TAG_LINE, (tags) => tags.replaceAll(/\s/g, ''));

const LINK = /https?:\/\/[^\s<>"']*[^\s<>"'.,;:!?)\]]|\uFDD0\d+\uFDD1/g;
const LINK_TAG = /^\{\{-?\s*links\.\w+\s*-?\}\}$/;

/** Masked HTML paragraphs of masked plain text, with its web addresses and `links` tags made clickable. */
export function plainTextToHtml(masked: string, mask: MergeTagMask): string {
  return masked
    .replaceAll('\r\n', '\n')
    .split(/\n[ \t]*\n+/)
    .filter((paragraph) => paragraph.trim() !== '')
    .map((paragraph) => `<p>${linked(paragraph, mask).replaceAll('\n', '<br>')}</p>`)
    .join('');
}

function linked(text: string, mask: MergeTagMask): string {
  let html = '';
  let at = 0;
  for (const match of text.matchAll(LINK)) {
    const [url] = match;
    const tag = mask.soleOutput(url);
    if (tag !== null && !LINK_TAG.test(tag)) continue;
    html += `${escapeHtml(text.slice(at, match.index))}<a href="${escapeHtml(url)}">${escapeHtml(url)}</a>`;
    at = match.index + url.length;
  }
  return html + escapeHtml(text.slice(at));
}
