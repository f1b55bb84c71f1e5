import { escapeHtml } from '#kernel';
import { holdsPlaceholder } from '../merge/merge-tags.js';
import { ContentCompileError } from '../content.errors.js';
import { styleWork } from './content-document.js';
import type { Masking } from './css-sanitizer.js';
import { sanitizePage } from './html-sanitizer.js';
import type { Theme } from './mjml-document.js';

/** Bound of inlining a page's style sheets, in declarations that every element could get: see `styleWork`. */
const MOST_WORK = 2_000_000;

const DOCTYPE = /<!doctype\s[^<>[\]]*>/i;
/** An XML declaration, which says nothing in HTML. */
const AHEAD_OF_DOCTYPE = /^(?:\s|<\?[^<>]*>)*$/;
const ROOT = /<html(?=[\s>])/i;
const HEAD = /<head(?:\s[^<>]*)?>/i;
const HEAD_END = /<\/head\s*>/i;
const BODY = /<body(?:\s(?:"[^"]*"|'[^']*'|[^"'<>])*)?>/i;
const BODY_END = /<\/body\s*>/i;
const TITLE = /<title>[^<]*<\/title\s*>/gi;
const COMMENT = /<!--[^]*?-->/g;

/** Masked and escaped already. */
interface PageFrame {
  readonly title: string;
  readonly preview: string;
  /** BCP 47; null where it is not known: then none is claimed. */
  readonly language: string | null;
}

/**
 * Masked HTML of a mail that its author wrote as a whole page: doctype, head, style sheets and comments stay where they are, and
 * what the sheets say is in `style` attributes as well, for programs that read no sheets. What it lacks of a page is added.
 * @throws {ContentCompileError} when its style sheets are too much to be inlined
 */
export async function compilePage(
  html: string,
  frame: PageFrame,
  { mask, removed, showsFiles }: Masking,
): Promise<string> {
  const masked = mask.hideHtml(html.replace(/^\ufeff/, ''));
  const { from, to } = doctypeIn(masked);
  const doctype = masked.slice(from, to);
  const noted = removed.at('html');
  if (holdsPlaceholder(doctype)) noted(doctype);
  const rest = masked.slice(0, from) + masked.slice(to);
  const clean = sanitizePage(rest, { mask, removed: noted, showsFiles });
  const page = completed(clean, frame);
  if (styleWork(sheetsIn(page), page.split('<').length) > MOST_WORK)
    throw new ContentCompileError('its style sheets hold too many rules for so many elements');
  // Loaded with the first page, as MJML and juice are.
  const { inlineSheets } = await import('./style-inliner.js');
  const inlined = inlineSheets(page);
  return `${doctypeOf(doctype)}\n${inlined}`;
}

/** The doctype where browsers take it for one: with nothing but comments and an XML declaration ahead. */
function doctypeIn(page: string): { readonly from: number; readonly to: number } {
  const place = placeOf(page, DOCTYPE);
  return AHEAD_OF_DOCTYPE.test(withoutComments(page).slice(0, place.from)) ? place : { from: 0, to: 0 };
}

/** As it was written; the mail's own where there is none, or one that holds merge tags. */
const doctypeOf = (written: string): string =>
  written === '' || holdsPlaceholder(written) ? '<!doctype html>' : written;

/** With root, head and body, and in them what a mail needs: encoding, title, language and the words that lists of mails show. */
function completed(page: string, { title, preview, language }: PageFrame): string {
  let whole = page.trim();
  if (!has(whole, ROOT)) whole = `<html>${whole}</html>`;
  if (!has(whole, HEAD)) whole = insert(whole, /<html(?:\s[^<>]*)?>/i, '<head></head>');
  if (!has(whole, BODY)) {
    whole = insert(whole, HEAD_END, '<body>');
    whole = insertBefore(whole, /<\/html\s*>/i, '</body>');
  }
  if (language !== null && !has(whole, /<html\s[^<>]*\blang=/i))
    whole = insert(whole, ROOT, ` lang="${language}"`);
  const needed = [
    ...(has(whole, /<meta\s[^<>]*charset=/i) ? [] : ['<meta charset="utf-8">']),
    ...(has(whole, /<title[\s>]/i) ? [] : [`<title>${title}</title>`]),
  ];
  whole = insert(whole, HEAD, needed.join(''));
  return preview === '' ? whole : insert(whole, BODY, `<div style="${UNSHOWN}">${preview}</div>`);
}

const UNSHOWN = 'display:none;max-height:0;overflow:hidden;mso-hide:all';

/** The same length without the words of comments: what stands in one is no part of the page. */
const withoutComments = (page: string): string =>
  page.replaceAll(COMMENT, (comment) => ' '.repeat(comment.length));

/** Pieces of a compiled mail outside of its body, without the title: before it, behind it, and between two. */
export const outsideOfBody = (page: string): string[] =>
  withoutComments(page)
    .replaceAll(TITLE, '')
    .split(/<\/body\s*>/i)
    .map((piece) => piece.split(BODY, 1)[0] ?? '');

const has = (page: string, part: RegExp): boolean => part.test(withoutComments(page));

/** Beginning and end of a part of the page; the end of the page where there is none. */
function placeOf(page: string, part: RegExp): { readonly from: number; readonly to: number } {
  const found = part.exec(withoutComments(page));
  const from = found?.index ?? page.length;
  return { from, to: from + (found?.[0].length ?? 0) };
}

const inserted = (page: string, at: number, text: string): string =>
  page.slice(0, at) + text + page.slice(at);

const insert = (page: string, behind: RegExp, text: string): string =>
  inserted(page, placeOf(page, behind).to, text);

const insertBefore = (page: string, part: RegExp, text: string): string =>
  inserted(page, placeOf(page, part).from, text);

/** With more HTML at the end of its body. */
export const appendToPage = (page: string, html: string): string => insertBefore(page, BODY_END, html);

/** A footer as an own place, in colours of its own: nothing is known of those around it. */
export const pageFooter = (html: string, { linkColor }: Theme): string =>
  `<div class="mw-footer" style="clear:both;background-color:#ffffff;color:#1f2933;font-family:Helvetica,Arial,sans-serif;font-size:14px;line-height:1.5;padding:24px;text-align:center">${html.replaceAll('<a ', `<a style="color:${escapeHtml(linkColor)};text-decoration:underline" `)}</div>`;

const sheetsIn = (page: string): string =>
  Array.from(page.matchAll(/<style(?:\s[^<>]*)?>([^]*?)<\/style>/gi), ([, css = '']) => css).join('\n');
