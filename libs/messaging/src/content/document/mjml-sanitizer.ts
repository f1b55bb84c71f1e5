import { Parser } from 'htmlparser2';
import { ContentCompileError } from '../content.errors.js';
import { isHarmlessValue, sanitizeStyleSheet, type Sanitizing } from './css-sanitizer.js';
import { type Edit, edited, sanitizeMarkup } from './html-sanitizer.js';
import { type Attributes, BLOCK_TAGS, INLINE_TAGS, isInertAttribute, showsFile } from './inert-elements.js';
import { STYLE_FILTER } from '../merge/merge-output.js';
import { holdsPlaceholder, type MergeTagMask, tagPlaceholders } from '../merge/merge-tags.js';

/** Components that stay; not mj-include (reads files), mj-font (an external sheet), mj-html-attributes (sets any attribute). */
export const MJML_TAGS = (
  'mjml mj-head mj-body mj-title mj-preview mj-breakpoint mj-attributes mj-all mj-class mj-style mj-wrapper ' +
  'mj-section mj-group mj-column mj-text mj-button mj-image mj-divider mj-spacer mj-table mj-raw mj-hero mj-social ' +
  'mj-social-element mj-navbar mj-navbar-link mj-accordion mj-accordion-element mj-accordion-title ' +
  'mj-accordion-text mj-carousel mj-carousel-image'
).split(' ');

const TAGS = [...INLINE_TAGS, ...BLOCK_TAGS, ...MJML_TAGS, 'meta'];
const STYLE = 'mj-style';
/** Components whose content is HTML or text. */
const HOLDS_HTML = new Set(
  (
    'mj-title mj-preview mj-text mj-button mj-table mj-raw mj-social-element mj-navbar-link mj-accordion-title ' +
    'mj-accordion-text'
  ).split(' '),
);
/** Components in which MJML writes an mj-raw where it stands. */
const TAKES_RAW = new Set(
  (
    'mj-body mj-wrapper mj-section mj-group mj-column mj-hero mj-social mj-navbar mj-accordion ' +
    'mj-accordion-element'
  ).split(' '),
);
/** Components of which MJML reads no content. */
const HOLDS_NOTHING = new Set(
  'mj-image mj-divider mj-spacer mj-carousel-image mj-breakpoint mj-all mj-class'.split(' '),
);

// MJML writes most attributes into inline styles as they are.
const UNSAFE_VALUE = /__proto__|[;{}<>\\]/;
const TEXT_ATTRIBUTE = /^(?:alt|title|href|src|name|rel|target|css-class|mj-class|class|id|lang|dir)$/;
/** Attributes that MJML only writes down; with others it calculates. */
const MERGEABLE =
  /^(?:alt|title|href|src|name|css-class|color|font-(?:family|size|style|weight)|text-(?:align|decoration|transform)|letter-spacing|[a-z-]+-color)$/;
// These end up inside CSS `url('…')` or in front of other URLs.
const URL_PART = /-(?:url|src)$/;
const PLAIN_WEB_URL = /^https?:\/\/[^\s'"()<>\\;{}]+$/i;

/** Without the characters that end CSS `url('…')`. */
const encodedUrl = (url: string): string =>
  url
    .trim()
    .replaceAll(/[\s'"()]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`);

function isInertMjmlAttribute(name: string, masked: string): boolean {
  if (!/^[a-z][a-z-]*$/.test(name) || name === 'position' || name === 'hidden') return false;
  if (!isInertAttribute(name, masked)) return false;
  if (holdsPlaceholder(masked) && !MERGEABLE.test(name)) return false;
  if (URL_PART.test(name)) return PLAIN_WEB_URL.test(masked);
  return TEXT_ATTRIBUTE.test(name) || (!UNSAFE_VALUE.test(masked) && isHarmlessValue(masked));
}

/**
 * Masked MJML with only known components and inert attributes. The style sheets are set aside first, since they
 * are CSS, not markup, and come back at the end of the head.
 * @throws {ContentCompileError} for a merge tag that MJML would lose: between attributes, or where no mj-raw may stand
 */
export function sanitizeMjml(masked: string, sanitizing: Sanitizing): string {
  const sheets: string[] = [];
  const components: string[] = [];
  const withoutStyles = takeStyles(withoutNotes(masked, sanitizing.mask), (attributes, css) => {
    const inline = /\binline\s*=/.test(attributes) ? ' inline="inline"' : '';
    components.push(`<${STYLE}${inline}>${sanitizeStyleSheet(css, sanitizing)}</${STYLE}>`);
  });
  const component = (tag: string, attribs: Attributes) => {
    if (tag === 'meta') return inertMeta(attribs, sanitizing.removed);
    return MJML_TAGS.includes(tag) ? inertComponent(tag, attribs, sanitizing) : null;
  };
  const parser = { recognizeSelfClosing: true };
  const clean = sanitizeMarkup(withoutStyles, { tags: TAGS, component, parser }, { ...sanitizing, sheets });
  return insertIntoHead(arranged(clean, sanitizing), styleComponents(sheets) + components.join(''));
}

/** `{% comment %}`, its end, and tags that do nothing. */
const NOTE = /^\{%-?\s*comment\b/;
const NOTE_END = /^\{%-?\s*endcomment\b/;
const IDLE = /^\{%-?\s*(?:(?:end)?comment\b|#)/;

/** Without the content of `{% comment %}`, which nobody gets. */
function withoutNotes(masked: string, mask: MergeTagMask): string {
  let isNote = false;
  const kept = masked.split(/(\uFDD2\d+\uFDD1)/).filter((part) => {
    const [tag = ''] = mask.tagsIn(part);
    if (isNote && !NOTE_END.test(tag)) return false;
    isNote = NOTE.test(tag);
    return true;
  });
  return kept.join('');
}

/**
 * Sanitised MJML in which merge tags and comments to Outlook between components stand in mj-raw: MJML passes over all that is
 * in no component. Text and HTML there are noted.
 */
function arranged(clean: string, sanitizing: Sanitizing): string {
  const { removed } = sanitizing;
  const edits: Edit[] = [];
  const open: string[] = [];
  /** Number of elements around the component whose HTML is being read. */
  let htmlAt: number | null = null;
  const piece = () => clean.slice(parser.startIndex, parser.endIndex + 1);
  const replace = (text: string) => edits.push({ from: parser.startIndex, to: parser.endIndex + 1, text });
  const parent = () => open.findLast((tag) => MJML_TAGS.includes(tag)) ?? '';
  const parser = new Parser(
    {
      onopentag: (tag) => {
        if (htmlAt === null && !MJML_TAGS.includes(tag)) {
          removed(`<${tag}> between components`);
          replace('');
        } else if (htmlAt === null && HOLDS_NOTHING.has(parent())) removed(`<${tag}> in <${parent()}>`);
        if (htmlAt === null && HOLDS_HTML.has(tag)) htmlAt = open.length;
        open.push(tag);
      },
      onclosetag: (tag, isImplied) => {
        open.pop();
        if (htmlAt === null && !isImplied && !MJML_TAGS.includes(tag)) replace('');
        if (open.length === htmlAt) htmlAt = null;
      },
      ontext: () => {
        if (htmlAt === null)
          replace(tagsBetween(piece(), { parent: parent(), inBody: open.includes('mj-body') }, sanitizing));
      },
      oncomment: () => {
        if (htmlAt !== null || !/^<!--(?:\[if| ?<!\[endif)/i.test(piece())) return;
        // With a note behind it: MJML joins a comment that ends to one of its own that begins.
        if (parent() === 'mj-head' || TAKES_RAW.has(parent())) replace(`<mj-raw>${piece()}<!-- --></mj-raw>`);
        else removed(`${piece()} between components`);
      },
    },
    { recognizeSelfClosing: true, decodeEntities: false },
  );
  parser.end(clean);
  return edited(clean, edits);
}

/** The merge tags of text between components, in an mj-raw; all else in it is noted. */
function tagsBetween(
  text: string,
  { parent, inBody }: { readonly parent: string; readonly inBody: boolean },
  { mask, removed }: Sanitizing,
): string {
  const words = text.replaceAll(/\uFDD2\d+\uFDD1/g, ' ').trim();
  if (words !== '') removed(`text between components: ${words}`);
  const tag = mask.tagsIn(text).find((source) => !IDLE.test(source));
  if (tag === undefined) return '';
  if (TAKES_RAW.has(parent)) return `<mj-raw>${tagPlaceholders(text)}</mj-raw>`;
  throw new ContentCompileError(
    inBody
      ? `${tag} stands in <${parent}>, which takes no merge tags: let it stand around <${parent}>`
      : `${tag} stands outside of <mj-body>, where it decides about nothing: let it stand in <mj-body>`,
  );
}

/** Style sheets for the head of an MJML source. */
export const styleComponents = (sheets: readonly string[]): string =>
  sheets
    .filter((css) => css !== '')
    .map((css) => `<${STYLE}>${css}</${STYLE}>`)
    .join('');

/** Statement of a mail about itself, such as its `color-scheme`. */
function inertMeta({ name, content }: Attributes, removed: Sanitizing['removed']): Record<string, string> {
  if (name !== undefined && content !== undefined && !holdsPlaceholder(name + content))
    return { name, content };
  removed('<meta>');
  return {};
}

function inertComponent(tag: string, attribs: Attributes, sanitizing: Sanitizing): Record<string, string> {
  const { mask, removed, showsFiles } = sanitizing;
  if (Object.keys(attribs).some(holdsPlaceholder))
    throw new ContentCompileError(
      `<${tag}> has a merge tag between its attributes: let it stand in a value, or around the component in an mj-raw`,
    );
  const kept: Record<string, string> = {};
  for (const [name, written] of Object.entries(attribs)) {
    const value = URL_PART.test(name) ? encodedUrl(written) : written;
    if (showsFiles && showsFile(name, value)) kept[name] = value;
    else if (isInertMjmlAttribute(name, value) && mask.isWhole(value))
      kept[name] = TEXT_ATTRIBUTE.test(name) ? value : mask.filtered(value, STYLE_FILTER);
    else removed(`<${tag} ${name}="${value}">`);
  }
  return kept;
}

/** Without its style components. Cut by their ends: one expression could take the square of its length. */
function takeStyles(mjml: string, take: (attributes: string, css: string) => void): string {
  const [before = '', ...parts] = mjml.split(/<mj-style(?=[\s>])/i);
  return parts.reduce((rest, part) => {
    const bodyAt = part.indexOf('>') + 1;
    const [css = '', ...after] = part.slice(bodyAt).split(/<\/mj-style\s*>/i);
    take(part.slice(0, bodyAt), css.replace(/^\s*<!\[CDATA\[/, '').replace(/\]\]>\s*$/, ''));
    return rest + after.join('');
  }, before);
}

/** Adds components at the end of the head, which is made when there is none. */
export function insertIntoHead(mjml: string, components: string): string {
  if (mjml.includes('</mj-head>')) return mjml.replace('</mj-head>', () => `${components}</mj-head>`);
  return mjml.replace(/<mj-body[\s>]/, (body) => `<mj-head>${components}</mj-head>${body}`);
}
