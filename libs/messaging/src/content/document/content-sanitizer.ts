import sanitizeHtml from 'sanitize-html';
import { hasForbiddenScheme } from '../merge/link-url.js';
import { beforePlaceholder, beginsWithOutput, holdsPlaceholder } from '../merge/merge-tags.js';

const INLINE_TAGS =
  'a abbr b bdi bdo blockquote br cite code del em i ins kbd li mark ol p q s small span strong sub sup u ul'.split(
    ' ',
  );

const BLOCK_TAGS = (
  'address article aside caption center col colgroup dd div dl dt figcaption figure font footer h1 h2 h3 h4 h5 h6 ' +
  'header hr img main pre section table tbody td tfoot th thead tr'
).split(' ');

const SAFE_STYLE =
  /^(?!.*(?:expression|javascript|vbscript|behavior|binding|url|import|\\))[\w\s#%.,()'"!+/-]+$/i;

const STYLES: Record<string, RegExp[]> = Object.fromEntries(
  (
    'color background-color font-size font-weight font-style font-family line-height letter-spacing text-align ' +
    'text-decoration text-transform vertical-align width max-width min-width height max-height padding padding-top ' +
    'padding-right padding-bottom padding-left margin margin-top margin-right margin-bottom margin-left border ' +
    'border-top border-right border-bottom border-left border-color border-style border-width border-radius ' +
    'border-collapse border-spacing display list-style-type word-break overflow-wrap direction'
  )
    .split(' ')
    .map((property) => [property, [SAFE_STYLE]]),
);

const ATTRIBUTES: Record<string, string[]> = {
  '*': ['style', 'title', 'lang', 'dir', 'align', 'valign', 'role', 'aria-hidden', 'aria-label'],
  a: ['href', 'target', 'rel', 'name'],
  img: ['src', 'alt', 'width', 'height', 'border'],
  table: ['width', 'border', 'cellpadding', 'cellspacing', 'bgcolor'],
  td: ['width', 'height', 'colspan', 'rowspan', 'bgcolor'],
  th: ['width', 'height', 'colspan', 'rowspan', 'bgcolor', 'scope'],
  tr: ['bgcolor', 'height'],
  col: ['width', 'span'],
  ol: ['start', 'type'],
  font: ['color', 'face', 'size'],
};

/** Attributes in which a merge tag may stand: text for people, or a URL. */
const MERGEABLE = /^(?:href|src|alt|title|aria-label)$/;
const URL_ATTRIBUTE = /^(?:href|src|cite|background|(?:xlink:|[a-z-]+-)(?:href|url|src))$/;

const FIXED_SCHEME = /^\s*(?:https?:\/\/|mailto:|tel:)/i;

/** A URL that no value and no browser can turn into a script; what else is wrong with it, pre-send says. */
function isInertUrl(masked: string): boolean {
  const url = masked.trim();
  if (!holdsPlaceholder(url)) return !hasForbiddenScheme(url);
  return beginsWithOutput(url) || FIXED_SCHEME.test(beforePlaceholder(url));
}

/** True when an attribute of masked content may stay. */
export function isInertAttribute(name: string, masked: string): boolean {
  if (name.startsWith('on') || name === 'srcset' || name === 'srcdoc') return false;
  if (holdsPlaceholder(masked) && !MERGEABLE.test(name)) return false;
  return !URL_ATTRIBUTE.test(name) || isInertUrl(masked);
}

const inertAttributes: sanitizeHtml.Transformer = (tagName, attribs) => ({
  tagName,
  attribs: Object.fromEntries(
    Object.entries(attribs).filter(([name, value]) => isInertAttribute(name, value)),
  ),
});

const BASE: sanitizeHtml.IOptions = {
  allowedAttributes: ATTRIBUTES,
  allowedStyles: { '*': STYLES },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
  allowProtocolRelative: false,
  nonTextTags: [
    'script',
    'style',
    'textarea',
    'option',
    'xmp',
    'noscript',
    'title',
    'template',
    'iframe',
    'object',
  ],
  transformTags: { '*': inertAttributes },
  nestingLimit: 60,
};

const INLINE: sanitizeHtml.IOptions = { ...BASE, allowedTags: INLINE_TAGS };
const BLOCK: sanitizeHtml.IOptions = { ...BASE, allowedTags: [...INLINE_TAGS, ...BLOCK_TAGS] };

/** Options for a superset of the block tags, such as MJML's. */
export function sanitizingWith(
  tags: readonly string[],
  attributes: Readonly<Record<string, string[]>>,
): sanitizeHtml.IOptions {
  return {
    ...BLOCK,
    allowedTags: [...INLINE_TAGS, ...BLOCK_TAGS, ...tags],
    allowedAttributes: { ...ATTRIBUTES, ...attributes },
    nestingLimit: 100,
  };
}

/** Masked HTML of a text block: paragraphs, lists, emphasis and links; everything else loses its tags. */
export const sanitizeInlineHtml = (masked: string): string => sanitizeHtml(masked, INLINE);

/** Masked HTML of an html block: mail layout without scripts, forms, frames, style sheets or embedded media. */
export const sanitizeBlockHtml = (masked: string): string => sanitizeHtml(masked, BLOCK);
