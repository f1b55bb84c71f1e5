import { Parser } from 'htmlparser2';
import sanitizeHtml from 'sanitize-html';
import { mergeUrlFault } from '../merge/merge-links.js';
import { MergeTagMask, templatePieces, withoutPlaceholders } from '../merge/merge-tags.js';
import type { ContentDocument } from './content-document.js';
import { NOT_DISPLAYED } from './content-text.js';
import { LINK_TAGS, type MailLink, showsAddressInText } from './mail-footer.js';
import { withoutCondition } from './inert-elements.js';

const URL_ATTRIBUTE = /^(?:href|src|background|(?:[a-z]+[-:])+(?:href|url|src))$/;

interface MaskedLink {
  readonly attribute: string;
  readonly url: string;
}

function maskedLinks(masked: string): MaskedLink[] {
  const links: MaskedLink[] = [];
  const parser = new Parser(
    {
      // Called for a second attribute of the same name too: a merge tag may decide between the two.
      onattribute: (name, url) => {
        const attribute = withoutCondition(name);
        if (URL_ATTRIBUTE.test(attribute)) links.push({ attribute, url });
      },
    },
    { recognizeSelfClosing: true },
  );
  parser.end(masked);
  return links;
}

/**
 * Every href and src of an HTML or MJML template, entities decoded and merge tags as written.
 * @throws {MergeTemplateError} when a merge tag is not closed
 */
export function linksOf(html: string): string[] {
  const mask = new MergeTagMask();
  return maskedLinks(mask.hide(html)).map(({ url }) => mask.restore(url, '{'));
}

/** The links of a document as its author wrote them, before sanitising takes the dangerous ones away. */
export function authoredLinks(document: ContentDocument): string[] {
  if ('html' in document) return linksOf(document.html);
  if ('mjml' in document) return linksOf(document.mjml);
  return document.blocks.flatMap((block) => {
    switch (block.type) {
      case 'columns':
        return block.columns.flatMap(authoredLinks);
      case 'text':
      case 'html':
        return linksOf(block.html);
      case 'mjml':
        return linksOf(block.mjml);
      case 'image':
        return block.href === undefined ? [block.src] : [block.src, block.href];
      case 'button':
        return [block.url];
      default:
        return [];
    }
  });
}

/** Fault of a link of the content, merge tags taken into account; null when it is fine. */
export function linkFault(url: string): string | null {
  return mergeUrlFault(new MergeTagMask().hide(url));
}

/** True when an HTML or MJML template has a link to `{{ links.<name> }}` that a reader can see. */
export function hasLink(html: string, name: MailLink): boolean {
  const mask = new MergeTagMask();
  return maskedLinks(withoutUnseen(mask.hide(html))).some(
    ({ attribute, url }) => attribute === 'href' && LINK_TAGS[name].test(mask.restore(url, '{').trim()),
  );
}

/** Title and preview, which nobody reads in the mail itself. */
const HEAD = /<(mj-head|head)\b[^]*?<\/\1>/gi;

/** True when a reader of an HTML or MJML template sees the postal address, by its merge tag or written out. */
export function showsAddress(html: string, postalAddress: string): boolean {
  const mask = new MergeTagMask();
  const seen = withoutUnseen(mask.hide(html).replaceAll(HEAD, ' ')).replaceAll(/<[^>]*>/g, ' ');
  return showsAddressInText(mask.restore(decoded(seen), '{ '), postalAddress);
}

/** Masked HTML without elements that are not displayed, and without links that have nothing to press on. */
function withoutUnseen(masked: string): string {
  /** Places at which elements begin that hold a picture. */
  const framesAt: number[] = [];
  return sanitizeHtml(masked, {
    allowedTags: false,
    allowedAttributes: false,
    allowVulnerableTags: true,
    parseStyleAttributes: false,
    parser: { recognizeSelfClosing: true },
    exclusiveFilter: ({ tag, attribs, text, tagPosition, mediaChildren }) => {
      const lastFrame = () => framesAt.at(-1) ?? -1;
      if (NOT_DISPLAYED.test(attribs['style'] ?? '') || attribs['hidden'] !== undefined) {
        while (lastFrame() > tagPosition) framesAt.pop();
        return true;
      }
      if (mediaChildren.length > 0) framesAt.push(tagPosition);
      return tag === 'a' && text.trim() === '' && lastFrame() < tagPosition;
    },
  });
}

/** The visible part of masked HTML, without the footer: text, images and the `div`s around them. */
function visibleHtml(masked: string): string {
  return sanitizeHtml(masked, {
    allowedTags: ['div', 'img'],
    allowedAttributes: { div: ['class', 'style'], img: ['src'] },
    nonTextTags: ['head', 'title', 'style', 'script'],
    exclusiveFilter: ({ tag, attribs }) =>
      tag === 'div' &&
      (/\bmw-footer\b/.test(attribs['class'] ?? '') || NOT_DISPLAYED.test(attribs['style'] ?? '')),
  });
}

/** True when a reader would see nothing but the footer: no text and no image. Judged by the text part when there is no HTML. */
export function isEmptyContent(html: string, text: string): boolean {
  if (html.trim() === '') return text.trim() === '';
  const visible = visibleHtml(new MergeTagMask().hide(html));
  const shown = visible.replaceAll(/<\/?div[^>]*>|\uFDD2\d+\uFDD1|&nbsp;|&#\d+;|[\s\p{Cf}\u034f]/gu, '');
  return shown === '';
}

/** Characters that show nothing: they keep mail programs from filling a preview with the text behind it. */
const BLANKS = /[\s\p{Cf}\u034f\u00a0]+/gu;

/**
 * Text that a reader of an HTML part sees, and the `alt` of each image, without the footer and the values of merge tags.
 * @throws {MergeTemplateError} when a merge tag is not closed
 */
export function contentView(html: string): { readonly text: string; readonly images: readonly string[] } {
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
export const withoutMergeTags = (source: string): string =>
  templatePieces(source)
    .map((piece) => (piece.kind === 'text' ? piece.source : ''))
    .join('');

/** Decodes the entities that sanitising leaves. */
const decoded = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
