import { decodeHTMLStrict } from 'entities';
import { LiquidError, TokenKind, Tokenizer } from 'liquidjs';
import { MergeTemplateError } from '../content.errors.js';
import { handlebarsFault } from './handlebars-tags.js';

/** One piece of a template: literal text, `{{ output }}` or `{% tag %}`, exactly as written. */
export interface TemplatePiece {
  readonly kind: 'text' | 'output' | 'tag';
  readonly source: string;
}

/**
 * Cuts a template into its pieces with Liquid's own tokenizer, so that nobody else's idea of where a merge
 * tag ends can differ from the engine's.
 * @throws {MergeTemplateError} when a tag is not closed, or is Handlebars
 */
export function templatePieces(source: string): TemplatePiece[] {
  const fault = handlebarsFault(source);
  if (fault !== null) throw new MergeTemplateError(fault);
  try {
    return new Tokenizer(source).readTopLevelTokens().map((token) => ({
      kind: token.kind === TokenKind.HTML ? 'text' : token.kind === TokenKind.Output ? 'output' : 'tag',
      source: source.slice(token.begin, token.end),
    }));
  } catch (error) {
    throw asMergeTemplateError(error);
  }
}

/**
 * Decodes a tag that stands in HTML: editors write `&amp;`, `&quot;` and `&nbsp;` in it as they do everywhere. A source that
 * would be more than one tag then stays as it is: the markup behind the first would never have been sanitised.
 */
function withoutEntities(piece: TemplatePiece): TemplatePiece {
  if (piece.kind === 'text' || !piece.source.includes('&')) return piece;
  const decoded = { ...piece, source: decodeHTMLStrict(piece.source) };
  return isOneTag(decoded) ? decoded : piece;
}

function isOneTag({ kind, source }: TemplatePiece): boolean {
  try {
    const [tag] = templatePieces(source);
    return tag?.kind === kind && tag.source === source;
  } catch {
    return false;
  }
}

/** An output tag with one more filter at its end. */
export function withFilter(output: string, filter: string): string {
  const closing = output.endsWith('-}}') ? '-}}' : '}}';
  return `${output.slice(0, -closing.length).trimEnd()} | ${filter} ${closing}`;
}

/** Turns any failure of the template engine into the one error that callers know. */
export function asMergeTemplateError(error: unknown): MergeTemplateError {
  if (error instanceof MergeTemplateError) return error;
  if (error instanceof Error && error.message.startsWith('Maximum call stack size')) {
    return new MergeTemplateError('template is nested too deeply');
  }
  if (error instanceof LiquidError) {
    const message = error.message.replace(/, line:\d+, col:\d+$/, '');
    return new MergeTemplateError(message, error.token.getPosition()[0]);
  }
  return new MergeTemplateError(error instanceof Error ? error.message : String(error));
}

// Unicode noncharacters: reserved for use inside a program, never part of interchanged text (Unicode §23.7).
const OUTPUT_MARK = '\uFDD0';
const TAG_MARK = '\uFDD2';
const END_MARK = '\uFDD1';
const MARKS = /[\uFDD0-\uFDD2]/g;
const PLACEHOLDER = /[\uFDD0\uFDD2](\d+)\uFDD1/g;
const TAG_PLACEHOLDER = /\uFDD2(\d+)\uFDD1/g;

const BLOCKS = new Set(['if', 'unless', 'case', 'for', 'capture', 'comment']);
const BRANCHES = new Set(['else', 'elsif', 'when']);
const LEAVING = new Set(['break', 'continue']);

/** True when the masked text begins with an `{{ output }}` placeholder. */
export const beginsWithOutput = (masked: string): boolean => masked.startsWith(OUTPUT_MARK);

/** True when the masked text holds any placeholder. */
export const holdsPlaceholder = (masked: string): boolean =>
  masked.includes(OUTPUT_MARK) || masked.includes(TAG_MARK);

/** The masked text up to its first placeholder. */
export function beforePlaceholder(masked: string): string {
  const at = masked.search(MARKS);
  return at < 0 ? masked : masked.slice(0, at);
}

/** The placeholders of tags, not of outputs, in the masked text. */
export const tagPlaceholders = (masked: string): string => (masked.match(TAG_PLACEHOLDER) ?? []).join('');

/** The masked text without its placeholders. */
export const withoutPlaceholders = (masked: string): string => masked.replaceAll(PLACEHOLDER, '');

/**
 * Hides merge tags behind placeholders that pass unchanged through HTML parsers, MJML and CSS inliners, and
 * puts them back byte for byte. A `{{` that appears only in between (from an entity, say) is made harmless.
 */
export class MergeTagMask {
  readonly #indexOf = new Map<string, number>();
  readonly #sources: string[] = [];

  /** @throws {MergeTemplateError} when a tag is not closed */
  hide(source: string): string {
    return this.#hidden(templatePieces(source));
  }

  /** The same of what is HTML: entities inside of its tags are decoded, once. @throws {MergeTemplateError} as `hide` */
  hideHtml(source: string): string {
    return this.#hidden(templatePieces(source).map(withoutEntities));
  }

  /** Puts the tags back; `literalBrace` is what the first brace of a literal `{{` or `{%` becomes. */
  restore(masked: string, literalBrace: string): string {
    return this.#restored(masked, literalBrace, (tag) => tag);
  }

  /** Puts the tags back as `hideHtml` reads them. */
  restoreHtml(masked: string): string {
    return this.#restored(masked, '&#123;', (tag) => tag.replaceAll('&', '&amp;'));
  }

  #hidden(pieces: readonly TemplatePiece[]): string {
    return pieces
      .map((piece) => (piece.kind === 'text' ? piece.source.replaceAll(MARKS, '') : this.#placeholder(piece)))
      .join('');
  }

  #restored(masked: string, literalBrace: string, written: (tag: string) => string): string {
    return masked
      .replaceAll(/\{(?=[{%\uFDD0\uFDD2])/g, literalBrace)
      .replaceAll(PLACEHOLDER, (_, index: string) => written(this.#sources[Number(index)] ?? ''));
  }

  /** The source of the output tag that is the whole of the masked text, else null. */
  soleOutput(masked: string): string | null {
    const match = /^\s*\uFDD0(\d+)\uFDD1\s*$/.exec(masked);
    return match === null ? null : (this.#sources[Number(match[1])] ?? null);
  }

  /** The sources of the tags in the masked text that are not outputs, in their order. */
  tagsIn(masked: string): string[] {
    return Array.from(masked.matchAll(TAG_PLACEHOLDER), ([, index]) => this.#sources[Number(index)] ?? '');
  }

  /** True when each block that a tag of the masked text opens ends in it, so that no condition can cut its context in two. */
  isWhole(masked: string): boolean {
    const open: string[] = [];
    for (const source of this.tagsIn(masked)) {
      const name = /^\{%-?\s*(\w+|#)/.exec(source)?.[1] ?? '';
      if (BLOCKS.has(name)) open.push(name);
      else if (name.startsWith('end') && open.pop() !== name.slice(3)) return false;
      else if (LEAVING.has(name)) return false;
      else if (BRANCHES.has(name) && open.length === 0) return false;
    }
    return open.length === 0;
  }

  /** The masked text with a filter at the end of each of its output tags. */
  filtered(masked: string, filter: string): string {
    return masked.replaceAll(PLACEHOLDER, (placeholder, index: string) => {
      if (!beginsWithOutput(placeholder)) return placeholder;
      const source = withFilter(this.#sources[Number(index)] ?? '', filter);
      return this.#placeholder({ kind: 'output', source });
    });
  }

  #placeholder(piece: TemplatePiece): string {
    // A tag gets one of its own each time: among attributes of one element the second of two equal names would be lost.
    let index = piece.kind === 'output' ? this.#indexOf.get(piece.source) : undefined;
    if (index === undefined) {
      index = this.#sources.push(piece.source) - 1;
      this.#indexOf.set(piece.source, index);
    }
    return `${piece.kind === 'output' ? OUTPUT_MARK : TAG_MARK}${index}${END_MARK}`;
  }
}
