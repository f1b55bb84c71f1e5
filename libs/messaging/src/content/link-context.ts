import type { TemplatePiece } from './merge-tags.js';

const LINK_ATTRIBUTE =
  /<[a-z][^<>]*[\s"'/](?:href|src|background|action|formaction|poster|cite)\s*=\s*["']?\s*$/i;
const OUTPUT = '\uFFFC';

/**
 * Says for each piece of an HTML template whether it is an output tag that begins the value of an attribute
 * that holds a URL: there the value, not the author, would choose the scheme.
 */
export function linkBeginnings(pieces: readonly TemplatePiece[]): boolean[] {
  let openTag = '';
  return pieces.map((piece) => {
    if (piece.kind === 'text') openTag = openTagAfter(openTag, piece.source);
    if (piece.kind !== 'output') return false;
    const begins = LINK_ATTRIBUTE.test(openTag);
    if (openTag !== '') openTag += OUTPUT;
    return begins;
  });
}

/** The unfinished tag at the end of the text so far, if any. */
function openTagAfter(openTag: string, text: string): string {
  const start = text.lastIndexOf('<');
  const tag = start >= 0 ? text.slice(start) : openTag === '' ? '' : openTag + text;
  return tag.includes('>') ? '' : tag;
}
