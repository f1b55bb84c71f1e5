import { css, html, type Html } from '../html.js';

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
const SHELL_STYLE = css`
  :root {
    color-scheme: light dark;
    --text: #1c2430;
    --quiet: #5a6675;
    --line: #d9dfe6;
    --paper: #fff;
    --tint: #f4f6f9;
    --accent: #0a5bd3;
  }
  @media (prefers-color-scheme: dark) {
    :root {
      --text: #e4e9f0;
      --quiet: #9aa7b6;
      --line: #2f3945;
      --paper: #12171d;
      --tint: #1a212a;
      --accent: #7db2ff;
    }
  }
  * {
    box-sizing: border-box;
  }
  body {
    margin: 0;
    font:
      16px/1.55 system-ui,
      sans-serif;
    color: var(--text);
    background: var(--paper);
  }
  main,
  header.top {
    max-width: 60rem;
    margin: 0 auto;
    padding: 1rem 1.25rem;
  }
  h1 {
    font-size: 1.8rem;
    line-height: 1.2;
    margin: 1rem 0 0.5rem;
  }
  h2 {
    font-size: 1.35rem;
    margin: 3rem 0 0.5rem;
    padding-top: 1rem;
    border-top: 2px solid var(--line);
  }
  h3 {
    font-size: 1.05rem;
    margin: 0;
  }
  a {
    color: var(--accent);
  }
  code,
  pre {
    font:
      0.875em/1.5 ui-monospace,
      monospace;
  }
  code {
    background: var(--tint);
    padding: 0.1em 0.3em;
    border-radius: 4px;
    overflow-wrap: anywhere;
  }
  pre {
    background: var(--tint);
    padding: 0.75rem 1rem;
    border-radius: 6px;
    overflow-x: auto;
  }
  pre code {
    background: none;
    padding: 0;
    overflow-wrap: normal;
  }
  nav ul {
    list-style: none;
    padding: 0;
    margin: 0.25rem 0 1rem;
  }
  nav li {
    margin: 0.35rem 0;
  }
  details {
    border: 1px solid var(--line);
    border-radius: 8px;
    margin: 0.75rem 0;
  }
  summary {
    padding: 0.75rem 1rem;
    cursor: pointer;
  }
  .wide {
    overflow-x: auto;
  }
  table {
    border-collapse: collapse;
    width: 100%;
    font-size: 0.9rem;
  }
  th,
  td {
    text-align: left;
    vertical-align: top;
    padding: 0.4rem 0.6rem 0.4rem 0;
    border-bottom: 1px solid var(--line);
  }
  th {
    color: var(--quiet);
    font-weight: 600;
  }
  .quiet {
    color: var(--quiet);
  }
  header.top {
    display: flex;
    flex-wrap: wrap;
    gap: 0.25rem clamp(0.75rem, 3vw, 1.25rem);
    align-items: baseline;
  }
  .top input {
    font: inherit;
    width: 11rem;
    max-width: 100%;
    padding: 0.2rem 0.6rem;
    color: inherit;
    background: var(--tint);
    border: 1px solid var(--line);
    border-radius: 6px;
  }
  .top .menu {
    display: none;
  }
  .top:has(~ .beside) .menu {
    display: inline;
  }
  .code {
    position: relative;
  }
  .copy {
    position: absolute;
    top: 0.4rem;
    right: 0.4rem;
    font: inherit;
    font-size: 0.75rem;
    padding: 0.15rem 0.5rem;
    color: var(--quiet);
    background: var(--paper);
    border: 1px solid var(--line);
    border-radius: 4px;
    cursor: pointer;
  }
  .top a {
    text-decoration: none;
  }
  .top .home {
    color: inherit;
    font-weight: 700;
    margin-right: auto;
  }
  @media print {
    header.top,
    nav {
      display: none;
    }
    pre,
    td code {
      white-space: pre-wrap;
    }
    details:not([open])::details-content {
      content-visibility: visible;
      block-size: auto;
    }
  }
`;

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
