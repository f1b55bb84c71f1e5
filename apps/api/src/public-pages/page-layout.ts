import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { coloursOf, parseColour, SHIPPED_LOCALES } from '#kernel';
import { projectRoot } from '#platform';
import { Html, html } from '../html.js';
import { LANGUAGE_PARAMETER, type PageSender, type PageView, say } from './page-view.js';

/** Its colours keep WCAG 2.2 AA in both schemes: 4.5:1 for text, 3:1 for the edges of buttons and the focus ring. */
const STYLE_SHEET = readFileSync(join(projectRoot(), 'assets/pages.css'), 'utf8');

/** The style sheet of all pages. No whitespace between it and its tags, so that its hash matches. */
export const styleElement = new Html([`<style>${STYLE_SHEET}</style>`], []);

const STYLE_SOURCE = sourceOf(STYLE_SHEET);

/** Style source of a Content-Security-Policy that allows a style sheet. */
function sourceOf(sheet: string): string {
  return `'sha256-${createHash('sha256').update(sheet).digest('base64')}'`;
}

/** The style sheet with a sender's colours, and its source for the pages' Content-Security-Policy. */
interface BrandStyle {
  readonly element: Html;
  readonly source: string;
}

/** `color` as projects have it; null for ours. It stands before the style sheet of all pages, which prints in black. */
export function brandStyle(color: string | null): BrandStyle {
  const { light, dark } = coloursOf(color === null ? null : parseColour(color));
  const sheet = [
    `:root{${variables(light)}--tint:color-mix(in srgb,var(--link) 10%,var(--card));}`,
    `@media (prefers-color-scheme:dark){:root{${variables({ ...dark, link: dark.accent })}}}`,
  ].join('');
  return { element: new Html([`<style>${sheet}</style>`], []), source: sourceOf(sheet) };
}

function variables(colours: { readonly accent: string; readonly onAccent: string; readonly link: string }) {
  return `--accent:${colours.accent};--on-accent:${colours.onAccent};--link:${colours.link};`;
}

export interface Page {
  /** The HTTP status. */
  readonly status: number;
  readonly html: Html;
  /** BCP 47. */
  readonly language: string;
  /** Content-Security-Policy. */
  readonly policy: string;
}

interface PageContent {
  readonly status?: number;
  readonly heading: string;
  /** The heading as the page shows it, where it has markup. */
  readonly shown?: Html;
  readonly sign: Html;
  readonly body: Html;
  /** Wide, for a page with a table. */
  readonly wide?: boolean;
  /** It frames a mail, from its own address. */
  readonly framesMail?: boolean;
}

/** A card with an icon, a heading and a body. Works without JavaScript or cookies, and loads nothing but the sender's logo. */
export function page(
  view: PageView,
  { status = 200, heading, shown, sign, body, wide = false, framesMail = false }: PageContent,
): Page {
  const { sender, wording } = view;
  const title = sender === null ? heading : `${heading} – ${sender.name}`;
  const brand = brandStyle(sender?.color ?? null);
  return {
    status,
    language: wording.locale,
    policy: policyOf(brand.source, sender, framesMail),
    html: html`<!doctype html>
      <html lang="${wording.locale}" dir="${wording.direction}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <meta name="robots" content="noindex" />
          <title>${title}</title>
          ${brand.element}${styleElement}
        </head>
        <body>
          ${sender === null ? html`<div class="sender"></div>` : html`<header class="sender">${nameplate(sender)}</header>`}
          <main${wide ? html` class="wide"` : null}>
            ${sign}
            <h1>${shown ?? heading}</h1>
            ${body}
          </main>
          <footer>${sender === null || sender.postalAddress === '' ? null : html`<p class="address"><bdi>${sender.postalAddress}</bdi></p>`}${sender === null ? null : privacyLinks(view, sender)}${languageSwitch(view)}</footer>
        </body>
      </html> `,
  };
}

function privacyLinks(view: PageView, { privacyUrl = null, contactEmail = null }: PageSender): Html | null {
  if (privacyUrl === null && contactEmail === null) return null;
  const mail = html`<a href="mailto:${contactEmail}"><bdi dir="ltr">${contactEmail}</bdi></a>`;
  return html`<p class="privacy">
    ${privacyUrl === null ? null : html`<a href="${privacyUrl}" rel="noreferrer">${say(view, 'footer.privacy')}</a>`}
    ${contactEmail === null ? null : html`<span>${say(view, 'footer.contact', { contact: mail })}</span>`}
  </p>`;
}

function nameplate({ name, logoUrl }: PageSender): Html {
  if (logoOrigin(logoUrl) === null) return html`<bdi>${name}</bdi>`;
  return html`<img class="logo" src="${logoUrl}" alt="${name}" />`;
}

function policyOf(brandSource: string, sender: PageSender | null, framesMail: boolean): string {
  const images = logoOrigin(sender?.logoUrl ?? null);
  return [
    `default-src 'none'; style-src ${STYLE_SOURCE} ${brandSource}`,
    ...(images === null ? [] : [`img-src ${images}`]),
    ...(framesMail ? ["frame-src 'self'"] : []),
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  ].join('; ');
}

/** null for what is not loaded: a page over https shows nothing else. */
function logoOrigin(logoUrl: string | null): string | null {
  const url = logoUrl === null ? null : URL.parse(logoUrl);
  return url?.protocol === 'https:' ? url.origin : null;
}

/**
 * A form with its buttons. Without `action` it posts to the page's own address, whatever prefix a proxy added to the
 * path, and the page does not repeat the token.
 */
export function form(...buttons: readonly Html[]): Html {
  return html`<form method="post">${buttons}</form>`;
}

/** The topics of a mail or a confirmation, each on its own line. */
export function topicList(names: readonly string[]): Html | null {
  if (names.length === 0) return null;
  return html`<ul class="topics" role="list">
    ${names.map((name) => html`<li><bdi>${name}</bdi></li>`)}
  </ul>`;
}

const sign = (shape: Html): Html =>
  html`<svg
    class="sign"
    viewBox="0 0 48 48"
    fill="none"
    stroke="currentColor"
    stroke-width="2.5"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <circle class="disc" cx="24" cy="24" r="24" />
    ${shape}
  </svg>`;

/** Icons that show what a page is about; the text always says it too. */
export const signs = {
  letter: sign(html`<rect x="12" y="16" width="24" height="17" rx="2.5" /><path d="m13 18 11 8 11-8" />`),
  done: sign(html`<path d="m15.5 24.5 6 6 11.5-12.5" />`),
  late: sign(html`<circle cx="24" cy="24" r="11.5" /><path d="M24 17.5V24l4.5 3" />`),
  lost: sign(
    html`<path d="M19.5 19.5a4.6 4.6 0 1 1 6.6 4.3c-1.4.7-2.1 1.6-2.1 3.2v.5" /><path d="M24 32.5v.1" />`,
  ),
  chart: sign(html`<path d="M14 33.5h20" /><path d="M17.5 28.5v-4M24 28.5v-13M30.5 28.5v-8.5" />`),
  trouble: sign(html`<path d="M24 15.5V27" /><path d="M24 32.5v.1" />`),
};

let namedLanguages: readonly { readonly locale: string; readonly name: string }[] | undefined;

/** Shows the page in another language: links, without a script. The form of the page keeps the choice in its address. */
function languageSwitch(view: PageView): Html {
  const current = view.wording.locale;
  return html`<details class="languages unprinted">
    <summary>
      <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.75" aria-hidden="true">
        <circle cx="12" cy="12" r="9" />
        <path d="M3 12h18M12 3c5 5 5 13 0 18M12 3c-5 5-5 13 0 18" />
      </svg>
      <span class="spoken">${say(view, 'page.language')}</span>
      <span>${languageName(current)}</span>
    </summary>
    <nav aria-label="${view.wording.text('page.language')}">
      <ul role="list">
        ${languages().map(({ locale, name }) => languageItem(locale, name, locale === current))}
      </ul>
    </nav>
  </details>`;
}

function languageItem(locale: string, name: string, isCurrent: boolean): Html {
  return html`<li>
    <a
      href="?${LANGUAGE_PARAMETER}=${locale}"
      lang="${locale}"
      hreflang="${locale}"
      rel="nofollow"
      ${isCurrent ? html`aria-current="true"` : null}
      ><bdi>${name}</bdi></a
    >
  </li>`;
}

/** The languages in their own names, in the order of these. The first page asks for them: they take Node 3 MB. */
function languages() {
  namedLanguages ??= SHIPPED_LOCALES.map((locale) => ({ locale, name: languageName(locale) })).sort((a, b) =>
    a.name.localeCompare(b.name, 'en'),
  );
  return namedLanguages;
}

/** A language in its own words: `Deutsch`. */
export function languageName(locale: string): string {
  // Beside the Traditional one, `中文` would say which it is to nobody.
  const shown = locale === 'zh' ? 'zh-Hans' : locale;
  const name = new Intl.DisplayNames(locale, { type: 'language' }).of(shown) ?? locale;
  const [first = '', ...rest] = name;
  return `${first.toLocaleUpperCase(locale)}${rest.join('')}`;
}
