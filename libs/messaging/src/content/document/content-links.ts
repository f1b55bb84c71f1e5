import { Parser } from 'htmlparser2';
import sanitizeHtml from 'sanitize-html';
import type { ContentDocument } from './content-document.js';
import { withoutCondition } from './inert-elements.js';
import { MergeTagMask, templatePieces } from '../merge/merge-tags.js';
import { mergeUrlFault } from '../merge/merge-url.js';

const HIDDEN = /display\s*:\s*none/i;
const URL_ATTRIBUTE = /^(?:href|src|background|(?:[a-z]+[-:])+(?:href|url|src))$/;
const UNSUBSCRIBE = /^\{\{-?\s*links\.unsubscribe\s*(?:\|[^}]*)?-?\}\}/;
const VIEW = /^\{\{-?\s*links\.view\s*(?:\|[^}]*)?-?\}\}/;

interface MaskedLink {
  readonly attribute: string;
  readonly url: string;
}

function maskedLinks(masked: string): MaskedLink[] {
  const links: MaskedLink[] = [];
  const parser = new Parser(
    {
      // Of each attribute, a second of the same name too: a merge tag may decide between the two.
      onattribute: (name, url) => {
        const attribute = withoutCondition(name);
        if (URL_ATTRIBUTE.test(attribute)) links.push({ attribute, url });
      },
    },
    { recognizeSelfClosing: true },
  );
  parser.write(masked);
  parser.end();
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
  return document.blocks.flatMap((block) =>
    block.type === 'columns'
      ? block.columns.flatMap((column) => column.blocks.flatMap(linksOfBlock))
      : linksOfBlock(block),
  );
}

function linksOfBlock(block: Exclude<ContentDocument['blocks'][number], { type: 'columns' }>): string[] {
  switch (block.type) {
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
}

/** What is wrong with a link of the content, merge tags taken into account; null when it is fine. */
export function linkFault(url: string): string | null {
  return mergeUrlFault(new MergeTagMask().hide(url));
}

/** True when an HTML or MJML template has a link to `{{ links.unsubscribe }}` that a reader can see. */
export const hasUnsubscribeLink = (html: string): boolean => hasLink(html, UNSUBSCRIBE);
/** The same of `{{ links.view }}`. */
export const hasViewLink = (html: string): boolean => hasLink(html, VIEW);

/** True when a text template shows `{{ links.unsubscribe }}`. */
export const hasUnsubscribeAddress = (text: string): boolean => shows(text, UNSUBSCRIBE);
/** The same of `{{ links.view }}`. */
export const hasViewAddress = (text: string): boolean => shows(text, VIEW);

function hasLink(html: string, tag: RegExp): boolean {
  const mask = new MergeTagMask();
  return maskedLinks(withoutUnseen(mask.hide(html))).some(
    ({ attribute, url }) => attribute === 'href' && tag.test(mask.restore(url, '{').trim()),
  );
}

function shows(text: string, tag: RegExp): boolean {
  return templatePieces(text).some(({ kind, source }) => kind === 'output' && tag.test(source));
}

/** Masked HTML without what is not displayed, and without links that have nothing to press on. */
export function withoutUnseen(masked: string): string {
  // Where each element begins that holds a picture.
  const framesAt: number[] = [];
  return sanitizeHtml(masked, {
    allowedTags: false,
    allowedAttributes: false,
    allowVulnerableTags: true,
    parseStyleAttributes: false,
    parser: { recognizeSelfClosing: true },
    exclusiveFilter: ({ tag, attribs, text, tagPosition, mediaChildren }) => {
      const lastFrame = () => framesAt.at(-1) ?? -1;
      if (HIDDEN.test(attribs['style'] ?? '') || attribs['hidden'] !== undefined) {
        while (lastFrame() > tagPosition) framesAt.pop();
        return true;
      }
      if (mediaChildren.length > 0) framesAt.push(tagPosition);
      return tag === 'a' && text.trim() === '' && lastFrame() < tagPosition;
    },
  });
}

/** What a reader sees of masked HTML, without the footer: text, images and the `div`s around them. */
export function visibleHtml(masked: string): string {
  return sanitizeHtml(masked, {
    allowedTags: ['div', 'img'],
    allowedAttributes: { div: ['class', 'style'], img: ['src'] },
    nonTextTags: ['head', 'title', 'style', 'script'],
    exclusiveFilter: ({ tag, attribs }) =>
      tag === 'div' && (/\bmw-footer\b/.test(attribs['class'] ?? '') || HIDDEN.test(attribs['style'] ?? '')),
  });
}

/**
 * True when a reader would see nothing but the footer: no text and no image. Judged by the HTML part; by the
 * text part when there is no HTML.
 */
export function isEmptyContent(html: string, text: string): boolean {
  if (html.trim() === '') return text.trim() === '';
  const visible = visibleHtml(new MergeTagMask().hide(html));
  const shown = visible.replaceAll(/<\/?div[^>]*>|\uFDD2\d+\uFDD1|&nbsp;|&#\d+;|[\s\p{Cf}\u034f]/gu, '');
  return shown === '';
}
