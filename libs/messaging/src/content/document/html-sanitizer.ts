import sanitizeHtml from 'sanitize-html';
import { Parser, type ParserOptions } from 'htmlparser2';
import { escapeHtml } from '#kernel';
import { LINK_SCHEMES } from '../merge/merge-links.js';
import { sanitizeStyleSheet, type Sanitizing } from './css-sanitizer.js';
import { type Attributes, BLOCK_TAGS, inertElement, INLINE_TAGS } from './inert-elements.js';
import { holdsPlaceholder, tagPlaceholders } from '../merge/merge-tags.js';

const NESTING = 100;
const BODY_CLASS = 'mw-body';

/** Frame of a whole page, which the mail has itself; nothing is lost with it. */
const FRAME = new Set(['html', 'head', 'body', 'title', 'meta', 'base', 'link']);

const BASE: sanitizeHtml.IOptions = {
  allowedAttributes: false,
  parseStyleAttributes: false,
  // Without `hidden`, which hides without a value too.
  nonBooleanAttributes: sanitizeHtml.defaults.nonBooleanAttributes.filter((name) => name !== 'hidden'),
  // The places where files may be shown are decided attribute by attribute, before this.
  allowedSchemes: [...LINK_SCHEMES, 'cid'],
  allowProtocolRelative: false,
  nonTextTags: 'script style textarea option xmp noscript title template iframe object'.split(' '),
  nestingLimit: NESTING,
};

export interface MarkupSanitizing extends Sanitizing {
  /** Style sheets of the markup, for the head of the mail. */
  readonly sheets: string[];
}

/** Attributes that a whole page has on top, on its root and its body. */
const PAGE_ATTRIBUTES =
  /^(?:xmlns(?::[a-z]+)?|xml:lang|text|link|alink|vlink|leftmargin|topmargin|rightmargin|bottommargin|marginwidth|marginheight)$/;
const PAGE_TAGS = ['html', 'head', 'body', 'title', 'meta'];
/** A switch of style sheets alone, which opens the menu of `mj-navbar` and turns the pages of a carousel. */
const SWITCH = /^(?:checkbox|radio)$/i;

interface Allowed {
  readonly tags: readonly string[];
  /** Attributes of elements that are judged otherwise than by `inertElement`; null for all others. */
  readonly component?: (tag: string, attribs: Attributes) => Record<string, string> | null;
  /** Text that takes the place of a style sheet; without it they go to `sheets`. */
  readonly sheet?: (css: string, media: string | undefined) => string;
  readonly parser?: sanitizeHtml.IOptions['parser'];
  readonly exclusiveFilter?: sanitizeHtml.IOptions['exclusiveFilter'];
}

/**
 * Masked markup with the elements, attributes and declarations that do no harm. Comments stay where they were; style sheets go
 * to `sheets`, for the head.
 */
export function sanitizeMarkup(
  masked: string,
  { tags, component, sheet, parser = {}, exclusiveFilter }: Allowed,
  sanitizing: MarkupSanitizing,
): string {
  const { removed, sheets } = sanitizing;
  const known = new Set(tags);
  const toSheets = (css: string): string => {
    sheets.push(withBodyDiv(sanitizeStyleSheet(css, sanitizing)));
    return '';
  };
  const reading = readMarkup(masked, {
    parser,
    deepest: NESTING,
    tooDeep: () => removed(`elements nested more than ${NESTING} deep`),
    comment: (text) => keptComment(text, sanitizing),
    sheet: sheet ?? toSheets,
  });
  const clean = sanitizeHtml(reading.markup, {
    ...BASE,
    parser,
    allowedTags: [...tags],
    ...(exclusiveFilter !== undefined && { exclusiveFilter }),
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

/** Masked HTML of a whole page with what does no harm, its head, style sheets and comments where they were; without a doctype. */
export function sanitizePage(masked: string, sanitizing: Sanitizing): string {
  const { removed } = sanitizing;
  const component = (tag: string, attribs: Attributes): Record<string, string> | null => {
    if (tag === 'meta') return inertMeta(attribs, removed);
    if (tag === 'html' || tag === 'body') return inertElement(tag, attribs, sanitizing, PAGE_ATTRIBUTES);
    if (tag !== 'input') return null;
    if (SWITCH.test(attribs['type'] ?? '')) return inertElement(tag, attribs, sanitizing, /^checked$/);
    noteRemoved(tag, attribs, removed);
    return {};
  };
  return sanitizeMarkup(
    masked,
    {
      tags: [...INLINE_TAGS, ...BLOCK_TAGS, ...PAGE_TAGS, 'input'],
      component,
      sheet: (css, media) =>
        `<style${media === undefined ? '' : ` media="${escapeHtml(media)}"`}>${sanitizeStyleSheet(css, sanitizing)}</style>`,
      exclusiveFilter: ({ tag, attribs }) =>
        (tag === 'meta' || tag === 'input') && Object.keys(attribs).length === 0,
    },
    { ...sanitizing, sheets: [] },
  );
}

/** Statement of a page about itself; it is written in UTF-8, whatever it says, and leads nowhere else. */
function inertMeta(attribs: Attributes, removed: Sanitizing['removed']): Record<string, string> {
  const { name, property, content, charset, 'http-equiv': header } = attribs;
  const isHeld = Object.values(attribs).some(holdsPlaceholder);
  if (!isHeld && charset !== undefined) return { charset: 'utf-8' };
  if (!isHeld && name !== undefined) return content === undefined ? { name } : { name, content };
  if (!isHeld && content !== undefined) {
    if (property !== undefined) return { property, content };
    if (/^content-type$/i.test(header ?? ''))
      return { 'http-equiv': 'Content-Type', content: 'text/html; charset=utf-8' };
    if (/^x-ua-compatible$/i.test(header ?? '')) return { 'http-equiv': header ?? '', content };
  }
  removed(`<meta${header === undefined ? '' : ` http-equiv="${header}"`}>`);
  return {};
}

/** Rules for the body hold for the element that takes its place too. */
const withBodyDiv = (css: string): string =>
  css.replaceAll(/(?<![\w.#-])body(?=\s*[,{])/gi, `$&,.${BODY_CLASS}`);

/** The page's background and colour, as an element inside of the mail has them. */
function bodyAsDiv(body: Attributes): Record<string, string> {
  const { bgcolor, text, style = '', class: own = '', ...attribs } = body;
  const styles = [
    ...(bgcolor === undefined ? [] : [`background-color:${bgcolor}`]),
    ...(text === undefined ? [] : [`color:${text}`]),
    style,
  ];
  return { ...attribs, class: `${BODY_CLASS} ${own}`.trim(), style: styles.join(';') };
}

/** Notes an element, unless it is a hint to load something ahead or a page's own frame: they change nothing in a mail. */
function noteRemoved(tag: string, attribs: Attributes, removed: Sanitizing['removed']): void {
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

// Noncharacters like those of merge tags; taken from the source first, so that nothing but a marker looks like one.
const MARKER = /\uFDD3(\d+)\uFDD4/g;
const MARKS = /[\uFDD3\uFDD4]/g;
const CONDITION = /^(?:\uFDD2\d+\uFDD1)+$/;

/** Text in place of a piece of a source. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

interface Reader {
  readonly parser: ParserOptions;
  readonly deepest: number;
  tooDeep(): void;
  /** Clean text in place of a comment, as it stands between `<!` and `>`. */
  comment(text: string): string;
  /** Text that takes the place of a style sheet's element. */
  sheet(css: string, media: string | undefined): string;
}

/**
 * Prepares masked markup for a sanitiser that knows neither comments nor style sheets: sets them aside by the parser that the
 * sanitiser uses itself, and joins merge tags among the attributes of an element to the attribute behind them, so that
 * `{% if … %} href="…" {% else %} href="…"` are two different attributes.
 */
export function readMarkup(
  source: string,
  reader: Reader,
): { markup: string; restore(clean: string): string } {
  const masked = unwrapped(source.replaceAll(MARKS, ''));
  const edits: Edit[] = [];
  const aside: string[] = [];
  const setAside = (clean: string) => (clean === '' ? '' : `\uFDD3${aside.push(clean) - 1}\uFDD4`);
  let depth = 0;
  let sheet: { readonly from: number; readonly body: number; readonly media: string | undefined } | null =
    null;
  let conditionEnd: number | null = null;
  const parser = new Parser(
    {
      onopentagname: () => (conditionEnd = null),
      onattribute: (name, _, quote) => {
        if (conditionEnd !== null) edits.push({ from: conditionEnd, to: parser.startIndex, text: '' });
        const isCondition = quote === undefined && CONDITION.test(name);
        conditionEnd = isCondition ? parser.startIndex + name.length : null;
      },
      onopentag: (name, { media }) => {
        depth += 1;
        if (depth > reader.deepest) reader.tooDeep();
        if (name === 'style') sheet = { from: parser.startIndex, body: parser.endIndex + 1, media };
      },
      onclosetag: (name) => {
        depth -= 1;
        if (name !== 'style' || sheet === null) return;
        const end = masked.indexOf('>', parser.endIndex);
        const to = end < 0 ? masked.length : end + 1;
        const bodyEnd = end < 0 ? to : Math.max(sheet.body, masked.lastIndexOf('</', end));
        edits.push({
          from: sheet.from,
          to,
          text: setAside(reader.sheet(masked.slice(sheet.body, bodyEnd), sheet.media)),
        });
        sheet = null;
      },
      oncomment: () => {
        const text = masked.slice(parser.startIndex, parser.endIndex + 1);
        edits.push({
          from: parser.startIndex,
          to: parser.endIndex + 1,
          text: setAside(reader.comment(text)),
        });
      },
    },
    reader.parser,
  );
  parser.end(masked);
  return {
    markup: edited(masked, edits),
    restore: (clean) => clean.replaceAll(MARKER, (_, at: string) => aside[Number(at)] ?? ''),
  };
}

export function edited(source: string, edits: readonly Edit[]): string {
  let result = '';
  let at = 0;
  for (const { from, to, text } of [...edits].sort((a, b) => a.from - b.from)) {
    if (from < at) continue;
    result += source.slice(at, from) + text;
    at = to;
  }
  return result + source.slice(at);
}

const CDATA = '<![CDATA[';

/** Without the marks of CDATA, which HTML takes for the beginning of a comment. */
function unwrapped(source: string): string {
  let result = '';
  let at = 0;
  for (;;) {
    const from = source.indexOf(CDATA, at);
    const to = from < 0 ? -1 : source.indexOf(']]>', from);
    if (to < 0) return result + source.slice(at);
    result += source.slice(at, from) + source.slice(from + CDATA.length, to);
    at = to + 3;
  }
}

/** `<!--[if mso]>…<![endif]-->`: Outlook alone reads what is in it. */
const HIDDEN = /^<!--(\[if [^\]<>]{1,100}\]>)([^]*)(<!\[endif\])-->$/i;
/** `<!--[if !mso]><!-->` and `<!--<![endif]-->`, or `<![if !mso]>` and `<![endif]>`: all but Outlook read what is between. */
const REVEALING =
  /^(?:<!--\[if [^\]<>]{1,100}\](?:><!(?:-- ?)?| ?> ?)-->|<!-- ?<!\[endif\]-->|<!\[(?:if [^\]<>]{1,100}|endif)\]>)$/i;

/** Elements that mean something in what only Outlook reads. */
const OUTLOOK_TAGS = new Set([...INLINE_TAGS, ...BLOCK_TAGS, 'html', 'head', 'body', 'xml', 'noscript']);
const OFFICE_TAG = /^(?:v|o|w|m|st1):[a-z\d]+$/;
/** Names of attributes that VML and Office add; addresses among them are judged as such. */
const OFFICE_ATTRIBUTE = /^[a-z][a-z\d]*(?::[a-z\d]+)?$/;

const PARTS = /<style(?=[\s>])[^<>]*>[^]*?<\/style\s*>|<\/?[a-z][^\s/>]*(?:"[^"]*"|'[^']*'|[^"'<>])*>|</gi;

/** Masked comment as it may stay; its merge tags alone where it may not, so that a condition around it still holds. */
export function keptComment(comment: string, sanitizing: Sanitizing): string {
  if (REVEALING.test(comment)) return comment;
  const [, opening, content, closing] = HIDDEN.exec(comment) ?? [];
  if (opening !== undefined && content !== undefined && closing !== undefined)
    return hidden([opening, content, closing], sanitizing);
  if (!holdsPlaceholder(comment) && /^<!--(?!-?>)(?:(?!<!--|--!?>)[^])*?(?<!<!-)-->$/.test(comment))
    return comment;
  return tagPlaceholders(comment);
}

function hidden(
  [opening, content, closing]: readonly [string, string, string],
  sanitizing: Sanitizing,
): string {
  const clean = content.replaceAll(PARTS, (part) => cleanPart(part, sanitizing));
  // A hyphen beside a merge tag could become the end of the comment.
  const isClosedBy = /--!?>|<!--|-[\uFDD0-\uFDD2]|[\uFDD0-\uFDD2]-/.test(clean);
  if (!isClosedBy && sanitizing.mask.isWhole(clean)) return `<!--${opening}${clean}${closing}-->`;
  sanitizing.removed(`<!--${opening}…`);
  return tagPlaceholders(content);
}

/** A piece of what only Outlook reads, as it was written where nothing of it goes. */
function cleanPart(part: string, sanitizing: Sanitizing): string {
  if (part === '<') return '&lt;';
  let isClean = !holdsPlaceholder(part);
  const removed = (masked: string) => {
    isClean = false;
    sanitizing.removed(masked);
  };
  const clean = cleanedPart(part, { ...sanitizing, removed });
  return isClean ? part : clean;
}

function cleanedPart(part: string, sanitizing: Sanitizing): string {
  if (/^<style/i.test(part)) {
    const css = part.slice(part.indexOf('>') + 1, part.lastIndexOf('</'));
    return `<style>${sanitizeStyleSheet(css, sanitizing)}</style>`;
  }
  const [, slash = '', name = ''] = /^<(\/?)([^\s/>]+)/.exec(part) ?? [];
  const tag = name.toLowerCase();
  if (!OUTLOOK_TAGS.has(tag) && !OFFICE_TAG.test(tag)) {
    if (tag !== 'meta' || /refresh/i.test(part)) sanitizing.removed(`<${slash}${tag}>`);
    return tagPlaceholders(part);
  }
  if (slash !== '') return `</${name}>`;
  const known = OFFICE_TAG.test(tag) ? OFFICE_ATTRIBUTE : undefined;
  const attributes = Object.entries(inertElement(tag, attributesOf(part), sanitizing, known)).map(
    ([key, value]) => (value === '' ? ` ${key}` : ` ${key}="${escapeHtml(value)}"`),
  );
  return `<${name}${attributes.join('')}${part.endsWith('/>') ? ' /' : ''}>`;
}

/** Attributes of an element; of two with one name, which programs read differently, the second is of another name. */
function attributesOf(openTag: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  const parser = new Parser({
    onattribute: (name, value) => {
      attributes[Object.hasOwn(attributes, name) ? `second ${name}` : name] = value;
    },
  });
  parser.end(openTag);
  return attributes;
}
