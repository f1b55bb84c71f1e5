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

/**
 * Renders GitHub's Markdown as HTML, with GitHub's anchors for headings. HTML is shown as text, and pictures that are not
 * served as their alternative text: every tag comes from our own templates. A picture's size is its title: `375 × 400`. `highestLevel` is the level of the largest heading.
 */
export function renderMarkdown(source: string, target: LinkTarget, highestLevel = 1): RenderedMarkdown {
  const renderer = new Renderer(target, highestLevel);
  return { html: renderer.blocks(marked.lexer(source, { gfm: true })), headings: renderer.headings };
}

/** The plain text of a line of Markdown, for titles. */
export function plainText(line: string): string {
  return textOf(marked.Lexer.lexInline(line, { gfm: true }));
}

/** The plain text below each heading of a page. */
export function sectionsOf(source: string): (Heading & { readonly words: string })[] {
  const sections: (Heading & { words: string })[] = [];
  for (const token of marked.lexer(source, { gfm: true })) {
    const section = sections.at(-1);
    if (token.type === 'heading') {
      const text = textOf(token.tokens);
      const level = (token as Tokens.Heading).depth;
      sections.push({ level, anchor: anchorOf(text, sections), text, words: '' });
    } else if (section !== undefined) section.words += `${wordsOf(token)} `;
  }
  return sections;
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

  constructor(
    private readonly target: LinkTarget,
    private readonly highestLevel: number,
  ) {}

  blocks(tokens: readonly Token[] = []): Html {
    return html`${tokens.map((token) => this.#block(token as Tokens.Generic))}`;
  }

  #block(token: Tokens.Generic): Html | string {
    switch (token.type) {
      case 'heading':
        return this.#heading(token as Tokens.Heading);
      case 'paragraph':
        return html`<p>${this.#inline(token.tokens)}</p> `;
      case 'code':
        return code(token as Tokens.Code);
      case 'list':
        return this.#list(token as Tokens.List);
      case 'table':
        return this.#table(token as Tokens.Table);
      case 'blockquote':
        return html`<blockquote>${this.blocks(token.tokens)}</blockquote>`;
      case 'html':
        return html`<p>${token.raw}</p>`;
      case 'space':
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

  #table({ header, rows }: Tokens.Table): Html {
    const row = (cells: readonly Tokens.TableCell[]) =>
      html`<tr>
        ${cells.map(({ tokens }) => html`<td>${this.#inline(tokens)}</td>`)}
      </tr> `;
    return html`<div class="wide" tabindex="0">
      <table>
        <thead>
          <tr>
            ${header.map(({ tokens }) => html`<th scope="col">${this.#inline(tokens)}</th>`)}
          </tr>
        </thead>
        <tbody>
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

function code({ text, lang }: Tokens.Code): Html {
  const markup = html`<pre tabindex="0"><code>${text}</code></pre>`;
  if (lang !== 'mermaid') return markup;
  return html`<details>
    <summary>Diagram, as Mermaid</summary>
    ${markup}
  </details>`;
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
