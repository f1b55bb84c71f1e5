import { Html, html } from '../public-pages/html.js';
import { inlineMarkdown, type LinkTarget, plainText } from './inline-markdown.js';

export interface Heading {
  readonly level: number;
  readonly anchor: string;
  readonly text: string;
}

export interface RenderedMarkdown {
  readonly html: Html;
  readonly headings: readonly Heading[];
}

interface Renderer {
  readonly target: LinkTarget;
  readonly headings: Heading[];
}

/** A block that begins with the first of the lines, and how many of them it takes; null for another kind of block. */
type Block = (lines: readonly string[], renderer: Renderer) => { html: Html; taken: number } | null;

const FENCE = /^(`{3,}) *([\w-]*)[^`]*$/;
const HEADING = /^(#{1,6}) +(.+?)(?: +#+)?$/;
const ITEM = /^(?:[-*]|(\d+)\.) +/;
const TABLE_RULE = /^\|(?: *:?-+:? *\|)+ *$/;

/**
 * The Markdown of our own pages as HTML: headings with GitHub's anchors, paragraphs, lists, tables, quotes and
 * fenced code. Whatever it does not know, HTML included, is shown as text.
 */
export function renderMarkdown(source: string, target: LinkTarget): RenderedMarkdown {
  const renderer = { target, headings: [] };
  const lines = source.replaceAll('\r\n', '\n').split('\n');
  return { html: html`${blocks(lines, renderer)}`, headings: renderer.headings };
}

function blocks(lines: readonly string[], renderer: Renderer): Html[] {
  const rendered: Html[] = [];
  let at = 0;
  while (at < lines.length) {
    const rest = lines.slice(at);
    const block = BLOCKS.map((read) => read(rest, renderer)).find((found) => found !== null);
    if (block === undefined || block === null) {
      at += 1;
      continue;
    }
    rendered.push(block.html);
    at += block.taken;
  }
  return rendered;
}

const fencedCode: Block = (lines) => {
  const [, fence, language] = FENCE.exec(lines[0] ?? '') ?? [];
  if (fence === undefined) return null;
  const length = lines.slice(1).findIndex((line) => line.startsWith(fence));
  const code = lines.slice(1, length === -1 ? undefined : length + 1);
  const markup = html`<pre tabindex="0"><code>${code.join('\n')}</code></pre>`;
  const shown =
    language === 'mermaid'
      ? html`<details>
          <summary>Diagram, as Mermaid</summary>
          ${markup}
        </details>`
      : markup;
  return { html: shown, taken: code.length + 2 };
};

const heading: Block = ([line = ''], { target, headings }) => {
  const [, marks, text = ''] = HEADING.exec(line) ?? [];
  if (marks === undefined) return null;
  const plain = plainText(text);
  const anchor = anchorOf(plain, headings);
  headings.push({ level: marks.length, anchor, text: plain });
  const level = String(marks.length);
  const content = [level, anchor, inlineMarkdown(text, target), level];
  return { html: new Html(['<h', ' id="', '">', '</h', '>\n'], content), taken: 1 };
};

/** As GitHub makes them, so that links work in both places. */
function anchorOf(text: string, headings: readonly Heading[]): string {
  const anchor = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');
  const before = headings.filter((other) => other.anchor.replace(/-\d+$/, '') === anchor).length;
  return before === 0 ? anchor : `${anchor}-${before}`;
}

const table: Block = (lines, { target }) => {
  const [head = '', rule = ''] = lines;
  if (!head.startsWith('|') || !TABLE_RULE.test(rule)) return null;
  const after = lines.slice(2).findIndex((line) => !line.startsWith('|'));
  const rows = lines.slice(2, after === -1 ? undefined : after + 2);
  const cells = (line: string) => cellsOf(line).map((cell) => inlineMarkdown(cell, target));
  const markup = html`<div class="wide" tabindex="0">
    <table>
      <thead>
        <tr>
          ${cells(head).map((cell) => html`<th scope="col">${cell}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${cells(row).map((cell) => html`<td>${cell}</td>`)}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`;
  return { html: markup, taken: rows.length + 2 };
};

function cellsOf(line: string): string[] {
  const inner = line.trim().replace(/^\|/, '').replace(/\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

const quote: Block = (lines, renderer) => {
  const length = lengthOf(lines, (line) => line.startsWith('>'));
  if (length === 0) return null;
  const inner = lines.slice(0, length).map((line) => line.replace(/^> ?/, ''));
  return { html: html`<blockquote>${blocks(inner, renderer)}</blockquote>`, taken: length };
};

const list: Block = (lines, renderer) => {
  const [marker, number] = ITEM.exec(lines[0] ?? '') ?? [];
  if (marker === undefined) return null;
  const isOrdered = number !== undefined;
  const items: Html[] = [];
  let at = 0;
  for (;;) {
    const [mark, itsNumber] = ITEM.exec(lines[at] ?? '') ?? [];
    if (mark === undefined || (itsNumber !== undefined) !== isOrdered) break;
    const length = itemLength(lines.slice(at), mark.length);
    items.push(item(lines.slice(at, at + length), mark.length, renderer));
    at += length;
  }
  return {
    html: isOrdered
      ? html`<ol>
          ${items}
        </ol>`
      : html`<ul>
          ${items}
        </ul>`,
    taken: at,
  };
};

/** The item's own line, what is indented below it, and lines that go on with its paragraph. */
function itemLength(lines: readonly string[], indent: number): number {
  let length = 1;
  for (const [index, line] of lines.entries()) {
    if (index === 0) continue;
    const isInside = line.startsWith(' '.repeat(indent));
    const continues = line !== '' && lines[index - 1] !== '' && !beginsBlock(line);
    if (isInside || continues) length = index + 1;
    else if (line !== '') break;
  }
  return length;
}

function item(lines: readonly string[], indent: number, renderer: Renderer): Html {
  const inner = lines.map((line, index) =>
    index === 0 ? line.slice(indent) : line.replace(new RegExp(`^ {1,${indent}}`), ''),
  );
  const length = paragraphLength(inner);
  const isTight = !inner.includes('');
  if (!isTight || length === 0) return html`<li>${blocks(inner, renderer)}</li>`;
  const text = inlineMarkdown(inner.slice(0, length).join('\n'), renderer.target);
  return html`<li>${text}${blocks(inner.slice(length), renderer)}</li>`;
}

const paragraph: Block = (lines, { target }) => {
  const length = paragraphLength(lines);
  if (length === 0) return null;
  return { html: html`<p>${inlineMarkdown(lines.slice(0, length).join('\n'), target)}</p> `, taken: length };
};

function paragraphLength(lines: readonly string[]): number {
  const [first = ''] = lines;
  if (first.trim() === '') return 0;
  return 1 + lengthOf(lines.slice(1), (line) => line.trim() !== '' && !beginsBlock(line));
}

function beginsBlock(line: string): boolean {
  return [FENCE, HEADING, ITEM, /^>/].some((pattern) => pattern.test(line));
}

function lengthOf(lines: readonly string[], belongs: (line: string) => boolean): number {
  const end = lines.findIndex((line) => !belongs(line));
  return end === -1 ? lines.length : end;
}

const BLOCKS: readonly Block[] = [fencedCode, heading, table, quote, list, paragraph];
