import sanitizeHtml from 'sanitize-html';
import { visibleHtml } from './content-links.js';
import { MergeTagMask, templatePieces, withoutPlaceholders } from '../merge/merge-tags.js';

/** What a reader of an HTML part gets to see, the footer and the values of merge tags left out. */
export interface ContentView {
  readonly text: string;
  /** The `alt` of each image. */
  readonly images: readonly string[];
}

/** @throws {MergeTemplateError} when a merge tag is not closed */
export function contentView(html: string): ContentView {
  const masked = new MergeTagMask().hide(html);
  const images: string[] = [];
  sanitizeHtml(masked, {
    onOpenTag: (tag, { alt = '' }) => {
      if (tag === 'img') images.push(alt);
    },
  });
  const bare = visibleHtml(masked).replaceAll(/<[^>]*>/g, ' ');
  return { text: withoutPlaceholders(decoded(bare)).replaceAll(BLANKS, ' ').trim(), images };
}

/** A subject or another line of text without its merge tags. */
export function withoutMergeTags(source: string): string {
  return templatePieces(source)
    .map((piece) => (piece.kind === 'text' ? piece.source : ''))
    .join('');
}

/** Mail programs are kept from filling a preview with what follows by characters that show nothing. */
const BLANKS = /[\s\p{Cf}\u034f\u00a0]+/gu;

/** What sanitising leaves as entities. */
export const decoded = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
