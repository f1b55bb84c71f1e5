import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '#platform';
import { html, Html } from '../html.js';
import { pageShell } from '../openapi/page-shell.js';
import type { Finding } from './docs-search.js';
import { type Heading, type LinkTarget, plainText, renderMarkdown } from './markdown.js';

interface DocsEntry {
  /** Path below /docs: `quickstart`, `relays/ses`. */
  readonly name: string;
  /** False for the reference, which is not made from Markdown. */
  readonly isMarkdown: boolean;
  readonly title: string;
  readonly summary: string;
}

interface DocsSection {
  readonly title: string;
  readonly entries: readonly DocsEntry[];
}

export interface DocsContents {
  readonly title: string;
  readonly summary: string;
  readonly sections: readonly DocsSection[];
}

const ENTRY =
  /^- \[(?<title>[^\]]+)\]\(\/docs\/(?<name>[a-z-]+(?:\/[a-z-]+)?)(?<markdown>\.md)?\): (?<summary>.+)$/;

/** Reads llms.txt (https://llmstxt.org), from which the navigation is made too. */
export function readContents(text: string): DocsContents {
  const [head = '', ...sections] = text.split(/^## /m);
  const [, title = ''] = /^# (.+)$/m.exec(head) ?? [];
  const [, summary = ''] = /^> ([^]+?)\n\n/m.exec(head) ?? [];
  return { title, summary: summary.replaceAll(/\n> ?/g, ' ').trim(), sections: sections.map(readSection) };
}

function readSection(text: string): DocsSection {
  const [title = '', ...lines] = text.split('\n');
  const entries = lines
    .filter((line) => line.startsWith('- '))
    .map((line) => {
      const { title: name, summary, markdown, name: slug } = ENTRY.exec(line)?.groups ?? {};
      if (name === undefined || slug === undefined || summary === undefined)
        throw new Error(`llms.txt has a line without a link to a page: ${line}`);
      return { name: slug, isMarkdown: markdown !== undefined, title: name, summary };
    });
  return { title, entries };
}

/** The navigation beside the text, or below it on a phone; on top of the style that all pages about the API share. */
const DOCS_STYLE = new Html([readFileSync(join(projectRoot(), 'assets/docs.css'), 'utf8')], []);

/** Pages with fewer headings need no table of contents. */
const SECTIONS_FOR_OUTLINE = 3;
const TITLE = /^# (.+)$/m;

/** /docs: a list of all pages. */
export function startPage({ title, summary, sections }: DocsContents): string {
  const body = html`<div class="docs">
    <main>
      <h1>${title} documentation</h1>
      <p>${summary}</p>
      <div id="pages">
        ${sections.map(
          (section) =>
            html`<h2>${section.title}</h2>
              <ul class="cards" role="list">
                ${section.entries.map(
                  (entry) =>
                    html`<li>
                      <a href="/docs/${entry.name}">${entry.title}</a>
                      <p>${entry.summary}</p>
                    </li>`,
                )}
              </ul>`,
        )}
      </div>
      <p class="quiet">
        For language models: <a href="/llms.txt">llms.txt</a>. For programs:
        <a href="/openapi.json">openapi.json</a>.
      </p>
    </main>
  </div>`;
  return pageShell(`${title} documentation`, body, DOCS_STYLE);
}

/** One page of the documentation with the navigation. */
export function docsPage(entry: DocsEntry, markdown: string, contents: DocsContents): string {
  const title = TITLE.exec(markdown)?.[1] ?? entry.title;
  const { html: text, headings } = renderMarkdown(markdown.replace(TITLE, ''), linksWithin(entry, contents));
  const body = html`<div class="docs beside">
    <main>
      <h1>${plainText(title)}</h1>
      ${outline(headings)} ${text}
      <p class="quiet"><a href="/docs/${entry.name}.md">This page as Markdown</a></p>
    </main>
    ${navigation(entry, contents)}
  </div>`;
  return pageShell(`${entry.title} – ${contents.title}`, body, DOCS_STYLE);
}

/** /docs/search: the passages that contain the words of `query`. */
export function searchPage(query: string, findings: readonly Finding[], contents: DocsContents): string {
  const count = findings.length === 0 ? 'Nothing was found' : `${findings.length} found`;
  const body = html`<div class="docs beside">
    <main>
      <h1>Search</h1>
      <p class="quiet">${count} for “${query}”.</p>
      <ul class="found">
        ${findings.map(
          ({ address, page, heading, excerpt }) =>
            html`<li>
              <a href="${address}">${heading}</a>
              ${heading === page ? null : html`<span class="quiet">${page}</span>`}
              <p>${excerpt.map((piece, index) => (index === 1 ? html`<mark>${piece}</mark>` : piece))}</p>
            </li>`,
        )}
      </ul>
    </main>
    ${navigation(null, contents)}
  </div>`;
  return pageShell(`${query} – ${contents.title}`, body, DOCS_STYLE);
}

function navigation(current: DocsEntry | null, { sections }: DocsContents): Html {
  const item = (entry: DocsEntry) =>
    entry === current
      ? html`<a href="/docs/${entry.name}" aria-current="page">${entry.title}</a>`
      : html`<a href="/docs/${entry.name}">${entry.title}</a>`;
  return html`<nav id="pages" class="pages" aria-label="Documentation">
    ${sections.map(
      ({ title, entries }) =>
        html`<h2>${title}</h2>
          <ul>
            ${entries.map((entry) => html`<li>${item(entry)}</li>`)}
          </ul>`,
    )}
  </nav>`;
}

function outline(headings: readonly Heading[]): Html | null {
  const sections = headings.filter(({ level }) => level === 2);
  if (sections.length < SECTIONS_FOR_OUTLINE) return null;
  return html`<details class="outline">
    <summary>On this page</summary>
    <ul>
      ${sections.map(({ anchor, text }) => html`<li><a href="#${anchor}">${plainText(text)}</a></li>`)}
    </ul>
  </details>`;
}

/** Turns links between files into links between pages. A file that is not served is named without a link. */
function linksWithin({ name }: DocsEntry, { sections }: DocsContents): LinkTarget {
  const names = new Set(sections.flatMap(({ entries }) => entries.map((entry) => entry.name)));
  return (href) => {
    if (/^(?:https?:|mailto:|#|\/)/.test(href)) return href;
    const [file = '', anchor] = href.split('#');
    const { pathname } = new URL(file, `https://files.example/docs/${name}`);
    const address = addressOf(pathname.replace('/packages/sdk/README.md', '/docs/sdk.md'), names);
    return address === null || anchor === undefined ? address : `${address}#${anchor}`;
  };
}

function addressOf(file: string, names: ReadonlySet<string>): string | null {
  const path = file.replace(/^\/docs\//, '');
  if (path === 'openapi.json' || path === 'llms.txt') return `/${path}`;
  if (DOWNLOADS.has(path) || PICTURE.test(path)) return file;
  const name = path.replace(/\.md$/, '');
  return names.has(name) ? `/docs/${name}` : null;
}

/** Path of a picture in the pages. */
export const PICTURE = /^images\/[\w-]+\.(?<type>svg|png)$/;

/** Files beside the pages, by their type. */
export const DOWNLOADS: ReadonlyMap<string, string> = new Map([
  ['grafana-dashboard.json', 'application/json'],
  ['alerts.yml', 'text/plain; charset=utf-8'],
  ['docs.js', 'text/javascript; charset=utf-8'],
]);
