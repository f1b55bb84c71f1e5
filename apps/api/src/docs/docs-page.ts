import { html, type Html } from '../html.js';
import { AUDIENCE_EXAMPLES } from '../openapi/examples/audience.js';
import { curlSample } from '../openapi/request-samples.js';
import { docsFrame, type NavigationGroup, navigationOf } from './docs-frame.js';
import type { Finding } from './docs-search.js';
import { areAlternatives, codeBlock } from './highlight.js';
import { type CodeRenderer, type Heading, type LinkTarget, plainText, renderMarkdown } from './markdown.js';

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

/** Pages with fewer headings need no table of contents. */
const SECTIONS_FOR_OUTLINE = 2;
const TITLE = /^# (.+)$/m;
/** Fields of the request that the start page shows. */
const FIRST_FIELDS = ['email', 'firstName', 'topicKeys', 'consent', 'source', 'consentText'];

/** /docs: what it is, the first request, and all pages by task. */
export function startPage({ title, summary, sections }: DocsContents): string {
  const { body: signUp } = AUDIENCE_EXAMPLES['createSubscriber'] ?? {};
  const shown = JSON.parse(JSON.stringify(signUp, FIRST_FIELDS)) as unknown;
  const request = curlSample({ method: 'post', path: '/api/v1/subscribers', body: shown });
  const body = html`<main id="content" class="start">
    <div class="hero">
      <div>
        <p class="eyebrow">Documentation</p>
        <h1>${title}: email marketing as an API</h1>
        <p class="lead">${summary.replace(/^[^:]+: (.)/, (_, first: string) => first.toUpperCase())}</p>
        <p>
          <a class="button" href="/docs/quickstart">Quickstart</a>
          <a class="button plain" href="/docs/reference">API reference</a>
        </p>
      </div>
      ${codeBlock(request, 'bash', 'Somebody signs up')}
    </div>
    ${sections.map(
      (section) =>
        html`<section class="task">
          <h2>${section.title}</h2>
          <ul role="list">
            ${section.entries.map(
              (entry) =>
                html`<li>
                  <a href="/docs/${entry.name}">${entry.title}</a>
                  <p>${entry.summary}</p>
                </li>`,
            )}
          </ul>
        </section>`,
    )}
    ${footer()}
  </main>`;
  return docsFrame({ title: `${title} documentation`, description: summary, body });
}

/** One page of the documentation with the navigation. */
export function docsPage(entry: DocsEntry, markdown: string, contents: DocsContents): string {
  const title = TITLE.exec(markdown)?.[1] ?? entry.title;
  const { html: text, headings } = renderMarkdown(markdown.replace(TITLE, ''), linksWithin(entry, contents), {
    code: codeInTabs,
  });
  const section = contents.sections.find(({ entries }) => entries.includes(entry));
  const body = html`<main id="content">
    ${outline(headings)}
    <article>
      <p class="eyebrow">${section?.title ?? null}</p>
      <h1>${plainText(title)}</h1>
      <p class="lead">${entry.summary}.</p>
      ${markdown.includes(OF_CLONE) ? commandNote() : null} ${text}
    </article>
    ${neighbours(entry, contents)} ${footer(html`<a href="/docs/${entry.name}.md">This page as Markdown</a>`)}
  </main>`;
  const navigation = navigationOf(groupsOf(contents), `/docs/${entry.name}`);
  return docsFrame({
    title: `${entry.title} – ${contents.title}`,
    description: entry.summary,
    navigation,
    body,
  });
}

/** Begins a command of the operator in a clone, as the pages write it. */
const OF_CLONE = 'npm run cli --';

/** Names the command by how Mailwright was installed. */
function commandNote(): Html {
  return html`<p class="note">
    <code>${OF_CLONE}</code> is for a clone. Installed by npm, it is <code>npx mailwright</code>; with Docker,
    <code>docker compose run --rm cli</code>; on Debian, <code>mailwright</code>:
    <a href="/docs/operations#commands">all commands</a>.
  </p>`;
}

/** Blocks of code in their colours; what does the same in different languages is shown one at a time. */
export const codeInTabs: CodeRenderer = (blocks) => {
  const shown = blocks.map(({ text, language }) => codeBlock(text, language));
  const inTabs = areAlternatives(blocks.map(({ language }) => language));
  return inTabs ? html`<div class="tabs">${shown}</div>` : html`${shown}`;
};

/** /docs/search: the passages that contain the words of `query`. */
export function searchPage(query: string, findings: readonly Finding[], contents: DocsContents): string {
  const count = findings.length === 0 ? 'Nothing was found' : `${findings.length} found`;
  const body = html`<main id="content">
    <article>
      <h1>Search</h1>
      <p class="lead">
        ${query === '' ? 'Type what you look for into the field above.' : `${count} for “${query}”.`}
      </p>
      <ul class="found" role="list">
        ${findings.map(
          ({ address, page, heading, excerpt }) =>
            html`<li>
              <a href="${address}">${heading}</a>
              ${heading === page ? null : html`<span>${page}</span>`}
              <p>${excerpt.map((piece, index) => (index === 1 ? html`<mark>${piece}</mark>` : piece))}</p>
            </li>`,
        )}
      </ul>
    </article>
  </main>`;
  const navigation = navigationOf(groupsOf(contents), null);
  return docsFrame({ title: `${query} – ${contents.title}`, navigation, body });
}

function groupsOf({ sections }: DocsContents): NavigationGroup[] {
  return sections.map(({ title, entries }) => ({
    title,
    links: entries.map((entry) => ({ href: `/docs/${entry.name}`, label: entry.title })),
  }));
}

/** The headings of a page, beside it. */
export function outline(headings: readonly Pick<Heading, 'level' | 'anchor' | 'text'>[]): Html | null {
  const shown = headings.filter(({ level }) => level === 2 || level === 3);
  if (shown.filter(({ level }) => level === 2).length < SECTIONS_FOR_OUTLINE) return null;
  return html`<details class="outline">
    <summary>On this page</summary>
    <ul>
      ${shown.map(({ level, anchor, text }) =>
        level === 2
          ? html`<li><a href="#${anchor}">${text}</a></li>`
          : html`<li class="inner"><a href="#${anchor}">${text}</a></li>`,
      )}
    </ul>
  </details>`;
}

function neighbours(entry: DocsEntry, { sections }: DocsContents): Html {
  const entries = sections.flatMap((section) => section.entries);
  const index = entries.indexOf(entry);
  const link = (other: DocsEntry | undefined, kind: 'Previous' | 'Next') =>
    other === undefined
      ? html`<span></span>`
      : html`<a href="/docs/${other.name}"><span>${kind}</span>${other.title}</a>`;
  return html`<nav class="neighbours" aria-label="Neighbouring pages">
    ${link(entries[index - 1], 'Previous')} ${link(entries[index + 1], 'Next')}
  </nav>`;
}

/** Links below each page, `first` before the others. */
export function footer(first: Html | null = null): Html {
  return html`<footer>
    ${first}
    <a href="/llms.txt">llms.txt</a>
    <a href="/openapi.json">OpenAPI document</a>
    <span>Apache License 2.0</span>
  </footer>`;
}

/** Files that are not served are read there. */
const REPOSITORY = 'https://github.com/mailwright/mailwright/blob/main';
const FILES = 'https://files.example';

/** Turns links between files into links between pages, and those to files that are not served into links to the repository. */
function linksWithin({ name }: DocsEntry, { sections }: DocsContents): LinkTarget {
  const names = new Set(sections.flatMap(({ entries }) => entries.map((entry) => entry.name)));
  return (href) => {
    if (/^(?:https?:|mailto:|#|\/)/.test(href)) return href;
    const [file = '', anchor] = href.split('#');
    const { origin, pathname } = new URL(file, `${FILES}/docs/${name}`);
    if (origin !== FILES) return null;
    const served = addressOf(pathname.replace('/packages/sdk/README.md', '/docs/sdk.md'), names);
    const address = served ?? (/\.(?:png|svg)$/.test(pathname) ? null : REPOSITORY + pathname);
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
]);
