import type { TemplatePiece } from './merge-tags.js';

const URL_ATTRIBUTE = /[\s"'/](?:href|src|background|action|formaction|poster|cite)$/i;
/** Longer than the longest of their names with the blank before it. */
const NAME_LENGTH = 12;

/**
 * Says for each piece of an HTML template whether it is an output tag that begins the value of an attribute
 * that holds a URL: there the value, not the author, would choose the scheme.
 */
export function linkBeginnings(pieces: readonly TemplatePiece[]): boolean[] {
  const tag = new OpenTag();
  return pieces.map(({ kind, source }) => {
    if (kind === 'text') tag.read(source);
    return kind === 'output' && tag.readOutput();
  });
}

/** The tag that is not closed at the end of the text so far, if any. */
class OpenTag {
  /** Its first characters, two of them as soon as there are two. */
  #start = '';
  /** What the author wrote in it since the last output tag. */
  #written = '';

  read(text: string): void {
    const at = text.lastIndexOf('<');
    if (at < 0 && this.#start === '') return;
    if (text.lastIndexOf('>') > at) {
      this.#start = '';
      this.#written = '';
      return;
    }
    if (at >= 0) this.#start = '';
    this.#written = at < 0 ? this.#written + text : text.slice(at);
    if (this.#start.length < 2) this.#start = (this.#start + text.slice(Math.max(at, 0))).slice(0, 2);
  }

  /** True when the output begins a URL. */
  readOutput(): boolean {
    const begins = /^<[a-z]/i.test(this.#start) && endsWithUrlAttribute(this.#written);
    this.#written = '';
    if (this.#start === '<') this.#start = '<{';
    return begins;
  }
}

/** Cut from its end: one expression for all of it could take the square of its length. */
function endsWithUrlAttribute(openTag: string): boolean {
  const beforeQuote = openTag.trimEnd().replace(/["']$/, '').trimEnd();
  if (!beforeQuote.endsWith('=')) return false;
  return URL_ATTRIBUTE.test(beforeQuote.slice(0, -1).trimEnd().slice(-NAME_LENGTH));
}
