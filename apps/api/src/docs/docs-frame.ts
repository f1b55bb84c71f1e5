import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '#platform';
import { html, type Html } from '../html.js';

export const HTML = 'text/html; charset=utf-8';

/** Pages about the API load and ask nothing but this api. Pictures of mails have their style sheets in themselves. */
export const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** Style sheet and script of these pages: their address changes with their content, so that caches may keep them. */
export const ASSETS: ReadonlyMap<string, { readonly type: string; readonly body: string }> = new Map(
  [
    ['docs.css', 'text/css; charset=utf-8'] as const,
    ['docs.js', 'text/javascript; charset=utf-8'] as const,
  ].map(([name, type]) => [name, { type, body: readFileSync(join(projectRoot(), 'assets', name), 'utf8') }]),
);

function addressOf(name: string): string {
  const hash = createHash('sha256').update(ASSETS.get(name)?.body ?? '');
  return `/docs/${name}?${hash.digest('base64url').slice(0, 10)}`;
}

const STYLE = addressOf('docs.css');
const SCRIPT = addressOf('docs.js');

/** An envelope whose flap makes an M, sealed. The same as assets/favicon.svg, in the colours of the page. */
const MARK = html`<svg class="mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
  <path d="M3.5 19.5V6.5L12 13.5l8.5-7v13" />
  <circle cx="12" cy="13.5" r="3" />
</svg>`;

interface Frame {
  /** Title of the browser's tab. */
  readonly title: string;
  /** Text of search engines and previews. */
  readonly description?: string;
  /** Groups of links beside the text; on a phone behind a button. */
  readonly navigation?: Html;
  /** Everything below the header: one `main`. */
  readonly body: Html;
}

/** A page about the API, in its frame: header with search, navigation, text. */
export function docsFrame({ title, description, navigation, body }: Frame): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        ${description === undefined ? null : html`<meta name="description" content="${description}" />`}
        <link rel="icon" href="/favicon.ico" type="image/svg+xml" />
        <link rel="stylesheet" href="${STYLE}" />
        <script src="${SCRIPT}" type="module"></script>
      </head>
      <body>
        <a class="skip" href="#content">Skip to the text</a>
        <header class="top">
          ${navigation === undefined ? null : html`<button class="menu" type="button" popovertarget="pages">Menu</button>`}
          <a class="home" href="/docs">${MARK}Mailwright</a>
          <form class="search" action="/docs/search" role="search">
            <input
              type="search"
              name="q"
              placeholder="Search the documentation"
              aria-label="Search the documentation"
              autocomplete="off"
              required
            />
            <kbd aria-hidden="true">/</kbd>
          </form>
          <nav class="areas" aria-label="Areas">
            <a href="/docs/quickstart">Quickstart</a>
            <a href="/docs">Guides</a>
            <a href="/docs/reference">API reference</a>
          </nav>
        </header>
        <div class="${navigation === undefined ? 'docs' : 'docs beside'}">
          ${navigation === undefined ? null : html`<nav id="pages" class="pages" popover aria-label="Pages">${navigation}</nav>`}
          ${body}
        </div>
      </body>
    </html> `.toString();
}

export interface NavigationGroup {
  readonly title: string;
  readonly links: readonly { readonly href: string; readonly label: string }[];
}

/** Links by group: the one that leads to `current` is marked and its group unfolded, or the group of that title. */
export function navigationOf(
  groups: readonly NavigationGroup[],
  current: string | null,
  unfolded: string | null = null,
): Html {
  return html`${groups.map(({ title, links }) => {
    const items = links.map(({ href, label }) =>
      href === current
        ? html`<li><a href="${href}" aria-current="page">${label}</a></li>`
        : html`<li><a href="${href}">${label}</a></li>`,
    );
    const content = html`<summary>${title}</summary>
      <ul>
        ${items}
      </ul>`;
    return title === unfolded || links.some(({ href }) => href === current)
      ? html`<details open>${content}</details>`
      : html`<details>${content}</details>`;
  })}`;
}

/** Page for a path that leads nowhere, for people: programs get the problem. */
export function nowherePage(): string {
  const body = html`<main id="content" class="single">
    <p class="eyebrow">404</p>
    <h1>There is no such page</h1>
    <p class="lead">
      It may have moved, or the address is not quite right. The search above knows every page and operation.
    </p>
    <p>
      <a class="button" href="/docs">All pages</a>
      <a class="button plain" href="/docs/reference">API reference</a>
    </p>
  </main>`;
  return docsFrame({ title: 'Not found – Mailwright', body });
}
