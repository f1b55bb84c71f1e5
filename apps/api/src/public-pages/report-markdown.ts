import { html, type Html } from './html.js';

const HEADING = /^ {0,3}#{1,6}\s+(.*?)\s*#*$/;
const BULLET = /^\s*[-*+]\s+(.*)$/;
const NUMBERED = /^\s*\d{1,9}[.)]\s+(.*)$/;
const RULE = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;
/** A code span, strong, emphasis, an escaped character: the first that matches wins. */
const INLINE =
  /`([^`]+)`|\*\*(?=\S)(.+?)(?<=\S)\*\*|(?<![\p{L}\p{N}*])[*_](?=[^\s*_])(.+?)(?<=[^\s*_])[*_](?![\p{L}\p{N}*])|\\([!-/:-@[-`{-~])/gsu;
const DEEPEST = 4;

interface Block {
  readonly kind: 'heading' | 'ul' | 'ol' | 'text';
  readonly lines: string[];
}

/**
 * The Markdown of reports as HTML: headings (as `h3`), lists, paragraphs, code spans, strong and emphasis. All else,
 * HTML and links among it, is shown as the text that it is: every tag comes from our own templates.
 */
export function markdownHtml(markdown: string): Html {
  return html`${blocksOf(markdown).map(blockHtml)}`;
}

function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let open: Block | null = null;
  for (const line of markdown.split(/\r\n?|\n/)) {
    const [kind, text] = lineOf(line);
    if (kind === null) open = null;
    else if (kind === 'heading') {
      blocks.push({ kind, lines: [text] });
      open = null;
    } else if (open !== null && kind === 'text') joinTo(open, text);
    else if (open !== null && open.kind === kind) open.lines.push(text);
    else blocks.push((open = { kind, lines: [text] }));
  }
  return blocks;
}

function lineOf(line: string): readonly [Block['kind'] | null, string] {
  if (line.trim() === '' || RULE.test(line)) return [null, ''];
  const heading = HEADING.exec(line)?.[1];
  if (heading !== undefined) return ['heading', heading];
  const bullet = BULLET.exec(line)?.[1];
  if (bullet !== undefined) return ['ul', bullet];
  const numbered = NUMBERED.exec(line)?.[1];
  if (numbered !== undefined) return ['ol', numbered];
  return ['text', line.trim()];
}

/** A line that goes on with a paragraph or with the last item of a list. */
function joinTo(block: Block, text: string): void {
  block.lines.push(`${block.lines.pop() ?? ''} ${text}`);
}

function blockHtml({ kind, lines }: Block): Html {
  const items = () => lines.map((line) => html`<li>${inline(line)}</li>`);
  switch (kind) {
    case 'heading':
      return html`<h3>${inline(lines.join(' '))}</h3>`;
    case 'ul':
      return html`<ul>
        ${items()}
      </ul>`;
    case 'ol':
      return html`<ol>
        ${items()}
      </ol>`;
    case 'text':
      return html`<p>${inline(lines.join(' '))}</p>`;
  }
}

function inline(text: string, depth = 0): Html {
  const parts: (Html | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(end, match.index), matched(match, depth));
    end = match.index + match[0].length;
  }
  parts.push(text.slice(end));
  return html`${parts}`;
}

function matched([all, code, strong, emphasis, escaped]: RegExpExecArray, depth: number): Html | string {
  if (code !== undefined) return html`<code>${code}</code>`;
  if (escaped !== undefined) return escaped;
  if (depth >= DEEPEST) return all;
  if (strong !== undefined) return html`<strong>${inline(strong, depth + 1)}</strong>`;
  return html`<em>${inline(emphasis ?? '', depth + 1)}</em>`;
}
