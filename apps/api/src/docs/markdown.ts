import { marked, type Token, type Tokens } from 'marked';
import { Html, html } from '../html.js';

/** Address that a link leads to from the served page; null when its target is not served or not trusted. */
export type LinkTarget = (href: string) => string | null;

export interface Heading {
  readonly level: number;
  readonly anchor: string;
  readonly text: string;
}

interface RenderedMarkdown {
  readonly html: Html;
  readonly headings: readonly Heading[];
}

/** Renders blocks of code that stand one after the other. */
export type CodeRenderer = (blocks: readonly CodeBlock[]) => Html;

interface CodeBlock {
  readonly text: string;
  /** First word of the info string. */
  readonly language: string;
}

interface Options {
  /** Level of the largest heading. */
  readonly highestLevel?: number;
  readonly code?: CodeRenderer;
}

/**
 * Renders GitHub's Markdown as HTML, with GitHub's anchors for headings. HTML is shown as text, and pictures that are not
 * served as their alternative text: every tag comes from our own templates. A picture's size is its title: `375 × 400`.
 */
export function renderMarkdown(
  source: string,
  target: LinkTarget,
  { highestLevel = 1, code = plainCode }: Options = {},
): RenderedMarkdown {
  const renderer = new Renderer(target, highestLevel, code);
  return { html: renderer.blocks(marked.lexer(source, { gfm: true })), headings: renderer.headings };
}

/** The plain text of a line of Markdown, for titles. */
export function plainText(line: string): string {
  return textOf(marked.Lexer.lexInline(line, { gfm: true }));
}

/** The plain text below each heading of a page, and of each row about a setting or a command. */
export function sectionsOf(source: string): (Heading & { readonly words: string })[] {
  const sections: (Heading & { words: string })[] = [];
  const rows: (Heading & { words: string })[] = [];
  for (const token of marked.lexer(source, { gfm: true })) {
    const section = sections.at(-1);
    if (token.type === 'heading') {
      const text = textOf(token.tokens);
      const level = (token as Tokens.Heading).depth;
      sections.push({ level, anchor: anchorOf(text, sections), text, words: '' });
    } else if (section !== undefined) section.words += `${wordsOf(token)} `;
    if (token.type === 'table') rows.push(...namedRowsOf(token as Tokens.Table));
  }
  return [...sections, ...rows];
}

function namedRowsOf({ rows }: Tokens.Table): (Heading & { words: string })[] {
  return rows.flatMap((cells) => {
    const name = nameOfRow(cells);
    const words = cells.slice(1).map(({ tokens }) => textOf(tokens));
    return name === null ? [] : [{ level: 6, anchor: name, text: name, words: words.join(' ') }];
  });
}

function wordsOf(token: Token): string {
  const words: string[] = [];
  void marked.walkTokens([token], (inner) => {
    const isLeaf = ['code', 'codespan', 'escape', 'text'].includes(inner.type) && !('tokens' in inner);
    if (isLeaf) words.push(seen(inner).trim());
  });
  return words
    .filter((word) => word !== '')
    .join(' ')
    .replaceAll(/ (?=[.,;:)])/g, '');
}

class Renderer {
  readonly headings: Heading[] = [];
  /** Rows that can be linked to. */
  readonly #named = new Set<string>();

  constructor(
    private readonly target: LinkTarget,
    private readonly highestLevel: number,
    private readonly code: CodeRenderer,
  ) {}

  blocks(tokens: readonly Token[] = []): Html {
    return html`${runsOf(tokens).map((run) =>
      run[0]?.type === 'code'
        ? this.code(
            (run as Tokens.Code[]).map(({ text, lang = '' }) => ({
              text,
              language: lang.split(' ')[0] ?? '',
            })),
          )
        : run.map((token) => this.#block(token as Tokens.Generic)),
    )}`;
  }

  #block(token: Tokens.Generic): Html | string {
    switch (token.type) {
      case 'heading':
        return this.#heading(token as Tokens.Heading);
      case 'paragraph':
        return html`<p>${this.#inline(token.tokens)}</p> `;
      case 'list':
        return this.#list(token as Tokens.List);
      case 'table':
        return this.#table(token as Tokens.Table);
      case 'blockquote':
        return html`<blockquote>${this.blocks(token.tokens)}</blockquote>`;
      case 'html':
        return html`<p>${token.raw}</p>`;
      case 'hr':
      case 'def':
        return '';
      default:
        return token.tokens === undefined ? html`${token.raw}` : this.#inline(token.tokens);
    }
  }

  #heading({ depth, tokens }: Tokens.Heading): Html {
    const text = textOf(tokens);
    const anchor = anchorOf(text, this.headings);
    this.headings.push({ level: depth, anchor, text });
    const level = String(Math.min(6, depth + this.highestLevel - 1));
    return new Html(['<h', ' id="', '">', '</h', '>\n'], [level, anchor, this.#inline(tokens), level]);
  }

  #list({ ordered, items }: Tokens.List): Html {
    const rows = items.map(({ tokens }) => html`<li>${this.blocks(tokens)}</li>`);
    return ordered
      ? html`<ol>
          ${rows}
        </ol>`
      : html`<ul>
          ${rows}
        </ul>`;
  }

  /** On a phone each row is a block of its own, whose cells name their columns; the roles keep it a table for screen readers. */
  #table({ header, rows }: Tokens.Table): Html {
    const columns = header.map(({ tokens }) => textOf(tokens));
    const row = (cells: readonly Tokens.TableCell[]) => {
      const content = cells.map(
        ({ tokens }, index) =>
          html`<td role="cell" data-name="${columns[index] ?? ''}">${this.#inline(tokens)}</td>`,
      );
      const name = nameOfRow(cells);
      if (name === null || this.#named.has(name))
        return html`<tr role="row">
          ${content}
        </tr> `;
      this.#named.add(name);
      return html`<tr role="row" id="${name}">
        ${content}
      </tr> `;
    };
    const heading = ({ tokens }: Tokens.TableCell) =>
      tokens.length === 0
        ? html`<td role="cell"></td>`
        : html`<th role="columnheader" scope="col">${this.#inline(tokens)}</th>`;
    return html`<div class="wide" tabindex="0">
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            ${header.map(heading)}
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${rows.map(row)}
        </tbody>
      </table>
    </div>`;
  }

  #inline(tokens: readonly Token[] = []): Html {
    return html`${tokens.map((token) => this.#span(token as Tokens.Generic))}`;
  }

  #span(token: Tokens.Generic): Html | string {
    switch (token.type) {
      case 'strong':
        return html`<strong>${this.#inline(token.tokens)}</strong>`;
      case 'em':
        return html`<em>${this.#inline(token.tokens)}</em>`;
      case 'codespan':
        return html`<code>${String(token['text'])}</code>`;
      case 'br':
        return html`<br />`;
      case 'link': {
        const address = this.target(String(token['href']));
        const label = this.#inline(token.tokens);
        return address === null ? label : html`<a href="${address}">${label}</a>`;
      }
      case 'image':
        return this.#picture(token as Tokens.Image);
      default:
        return token.tokens === undefined ? seen(token) : this.#inline(token.tokens);
    }
  }

  #picture({ href, title, text }: Tokens.Image): Html | string {
    const address = this.target(href);
    if (address === null) return text;
    const [, width, height] = /^(\d+) × (\d+)$/.exec(title ?? '') ?? [];
    if (width === undefined || height === undefined)
      return html`<img src="${address}" alt="${text}" loading="lazy" />`;
    return html`<img src="${address}" alt="${text}" width="${width}" height="${height}" loading="lazy" />`;
  }
}

function plainCode(blocks: readonly CodeBlock[]): Html {
  return html`${blocks.map(({ text }) => html`<pre tabindex="0"><code>${text}</code></pre> `)}`;
}

/** Tokens one by one, but for blocks of code with nothing between them. */
function runsOf(tokens: readonly Token[]): readonly (readonly Token[])[] {
  const runs: Token[][] = [];
  for (const token of tokens) {
    if (token.type === 'space') continue;
    const before = runs.at(-1);
    if (token.type === 'code' && before?.[0]?.type === 'code') before.push(token);
    else runs.push([token]);
  }
  return runs;
}

/** A setting, or a command. */
const NAME = /^(?:[A-Z][A-Z0-9_]{3,}|[a-z-]+:[a-z-]+)$/;

/** Name of the setting or command that a row of a table is about, by which one gets to it; null for another row. */
function nameOfRow([first]: readonly Tokens.TableCell[]): string | null {
  const [only, ...others] = first?.tokens ?? [];
  const text = only?.type === 'codespan' && others.length === 0 ? (only as Tokens.Codespan).text : '';
  return NAME.test(text) ? text : null;
}

function textOf(tokens: readonly Token[] = []): string {
  return tokens
    .map((token) => (token as Tokens.Generic).tokens)
    .map((inner, index) => (inner === undefined ? seen(tokens[index] as Tokens.Generic) : textOf(inner)))
    .join('');
}

/** The text of a token; HTML as it was written. */
function seen({ type, raw, ...token }: Tokens.Generic): string {
  return type === 'html' ? raw : String(token['text'] ?? raw);
}

/** GitHub's anchors, so that links work there and here. */
function anchorOf(text: string, headings: readonly Heading[]): string {
  const anchor = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');
  const before = headings.filter((other) => other.anchor.replace(/-\d+$/, '') === anchor).length;
  return before === 0 ? anchor : `${anchor}-${before}`;
}
