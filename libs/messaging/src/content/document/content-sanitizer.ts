import sanitizeHtml from 'sanitize-html';
import { LINK_SCHEMES } from '../merge/link-url.js';
import { type Sanitizing, sanitizeStyleSheet } from './css-sanitizer.js';
import { BLOCK_TAGS, inertElement, INLINE_TAGS } from './inert-elements.js';
import { keptComment } from './mail-comments.js';
import { readMarkup } from './markup-reading.js';

const NESTING = 100;
const BODY_CLASS = 'mw-body';

/** The frame of a whole page, which the mail has itself; nothing is lost with it. */
const FRAME = new Set(['html', 'head', 'body', 'title', 'meta', 'base', 'link']);

const BASE: sanitizeHtml.IOptions = {
  allowedAttributes: false,
  parseStyleAttributes: false,
  allowedSchemes: [...LINK_SCHEMES],
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
  nestingLimit: NESTING,
};

export interface MarkupSanitizing extends Sanitizing {
  /** Style sheets of the markup, for the head of the mail. */
  readonly sheets: string[];
}

interface Allowed {
  readonly tags: readonly string[];
  /** Attributes of elements that are not of HTML. */
  readonly component?: (
    tag: string,
    attribs: Readonly<Record<string, string>>,
  ) => Record<string, string> | null;
  readonly parser?: sanitizeHtml.IOptions['parser'];
}

/**
 * Masked markup with the elements, attributes and declarations that do no harm. Comments stay where they were; style sheets go
 * to `sheets`, for the head.
 */
export function sanitizeMarkup(
  masked: string,
  { tags, component, parser = {} }: Allowed,
  sanitizing: MarkupSanitizing,
): string {
  const { removed, sheets } = sanitizing;
  const known = new Set(tags);
  const reading = readMarkup(masked, {
    parser,
    deepest: NESTING,
    tooDeep: () => removed(`elements nested more than ${NESTING} deep`),
    comment: (text) => keptComment(text, sanitizing),
    sheet: (css) => void sheets.push(withBodyDiv(sanitizeStyleSheet(css, sanitizing))),
  });
  const clean = sanitizeHtml(reading.markup, {
    ...BASE,
    parser,
    allowedTags: [...tags],
    transformTags: {
      '*': (tagName, attribs) => {
        const own = component?.(tagName, attribs) ?? null;
        if (own !== null) return { tagName, attribs: own };
        if (tagName === 'body')
          return { tagName: 'div', attribs: inertElement('body', bodyAsDiv(attribs), sanitizing) };
        if (!known.has(tagName)) {
          noteRemoved(tagName, attribs, removed);
          return { tagName, attribs: {} };
        }
        return { tagName, attribs: inertElement(tagName, attribs, sanitizing) };
      },
    },
  });
  return reading.restore(clean);
}

/** Rules for the body hold for the element that takes its place too. */
const withBodyDiv = (css: string): string =>
  css.replaceAll(/(?<![\w.#-])body(?=\s*[,{])/gi, `$&,.${BODY_CLASS}`);

/** The page's background and colour, as an element inside of the mail has them. */
function bodyAsDiv(body: Readonly<Record<string, string>>): Record<string, string> {
  const { bgcolor, text, style = '', class: own = '', ...attribs } = body;
  const styles = [
    ...(bgcolor === undefined ? [] : [`background-color:${bgcolor}`]),
    ...(text === undefined ? [] : [`color:${text}`]),
    style,
  ];
  return { ...attribs, class: `${BODY_CLASS} ${own}`.trim(), style: styles.join(';') };
}

/** Hints of what to load ahead and a page's own frame change nothing in a mail. */
function noteRemoved(
  tag: string,
  attribs: Readonly<Record<string, string>>,
  removed: (what: string) => void,
): void {
  const isActive =
    (tag === 'meta' && /refresh/i.test(attribs['http-equiv'] ?? '')) ||
    (tag === 'link' && /stylesheet/i.test(attribs['rel'] ?? '')) ||
    (tag === 'base' && attribs['href'] !== undefined);
  if (FRAME.has(tag) && !isActive) return;
  const address = attribs['href'] ?? attribs['src'];
  removed(address === undefined ? `<${tag}>` : `<${tag} ${address}>`);
}

/** Masked HTML of a text block: paragraphs, lists, emphasis and links; everything else loses its tags. */
export const sanitizeInlineHtml = (masked: string, sanitizing: MarkupSanitizing): string =>
  sanitizeMarkup(masked, { tags: INLINE_TAGS }, sanitizing);

/** Masked HTML of an html block: mail layout without scripts, forms, frames or embedded media. */
export const sanitizeBlockHtml = (masked: string, sanitizing: MarkupSanitizing): string =>
  sanitizeMarkup(masked, { tags: [...INLINE_TAGS, ...BLOCK_TAGS] }, sanitizing);
