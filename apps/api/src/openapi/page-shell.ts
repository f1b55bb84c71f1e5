import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '#platform';
import { html, Html } from '../html.js';

export const HTML = 'text/html; charset=utf-8';

/** Pages with our scripts may only load from and connect to this api. */
export const SCRIPTED_PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** The header of every page about the API. */
const TOP = html`<header class="top">
  <a class="home" href="/docs">Mailwright</a>
  <form action="/docs/search" role="search">
    <input type="search" name="q" placeholder="Search" aria-label="Search the documentation" required />
  </form>
  <a class="menu" href="#pages">Pages</a>
  <a href="/docs/quickstart">Quickstart</a>
  <a href="/docs/reference">Reference</a>
</header>`;

/** The style of all pages about the API. */
const SHELL_STYLE = new Html([readFileSync(join(projectRoot(), 'assets/shell.css'), 'utf8')], []);

/**
 * A page about the API, self-contained except for one script, so that it works offline and under a strict policy.
 * `style` adds to the style that all of these pages share.
 */
export function pageShell(title: string, body: Html, style: Html | null = null): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        <style>
          ${SHELL_STYLE}${style}
        </style>
        <script src="/docs/docs.js" type="module"></script>
      </head>
      <body>
        ${TOP} ${body}
      </body>
    </html> `.toString();
}
