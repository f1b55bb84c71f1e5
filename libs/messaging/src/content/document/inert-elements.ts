import sanitizeHtml from 'sanitize-html';
import { FIXED_SCHEME, hasForbiddenScheme, isFileUrl } from '../merge/merge-links.js';
import {
  beforePlaceholder,
  beginsWithOutput,
  holdsPlaceholder,
  tagPlaceholders,
} from '../merge/merge-tags.js';
import { areHarmlessDeclarations, sanitizeDeclarations, type Sanitizing } from './css-sanitizer.js';
import { ContentCompileError } from '../content.errors.js';

/** Attributes of an element, by name. */
export type Attributes = Readonly<Record<string, string>>;

/** Elements of a `text` block. */
export const INLINE_TAGS = (
  'a abbr b bdi bdo big blockquote br cite code del dfn em font i ins kbd label li mark ol p q s samp small span strike strong sub ' +
  'sup time tt u ul var wbr'
).split(' ');

/** Elements that an `html` block may hold on top. */
export const BLOCK_TAGS = (
  'address area article aside caption center col colgroup dd details div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 ' +
  'header hgroup hr img main map nav pre section summary table tbody td tfoot th thead tr'
).split(' ');

/** Attributes of any element; `aria-…` and `data-…` on top. */
export const ATTRIBUTES = (
  'abbr align alt axis background bgcolor border bordercolor cellpadding cellspacing char cite class clear color ' +
  'cols colspan coords datetime dir face for frame headers height hidden href hspace id lang name noshade nowrap open rel reversed role rows ' +
  'rowspan rules scope shape size span src start style summary tabindex target title translate type usemap valign value ' +
  'vspace width'
).split(' ');
const ATTRIBUTE_SET = new Set(ATTRIBUTES);
const OWN_NAME = /^(?:aria|data)-[a-z\d_.-]+$/;

const URL_ATTRIBUTE = /^(?:href|src|cite|background|(?:[a-z]+[-:])+(?:href|url|src))$/;

/** True for a URL that no value and no browser can turn into a script; pre-send finds its other faults. */
function isInertUrl(masked: string): boolean {
  const url = masked.trim();
  if (!holdsPlaceholder(url) || url.startsWith('#')) return !hasForbiddenScheme(url);
  return beginsWithOutput(url) || FIXED_SCHEME.test(beforePlaceholder(url));
}

/** True when an attribute of masked HTML can do nothing, whatever the values of its merge tags are. */
export function isInertAttribute(name: string, masked: string): boolean {
  if (/^(?:on|srcset$|srcdoc$|formaction$|action$|ping$)/.test(name)) return false;
  if (name === 'style') return areHarmlessDeclarations(masked);
  return !URL_ATTRIBUTE.test(name) || isInertUrl(masked);
}

/** True for an attribute that shows a file which goes with the mail. */
export const showsFile = (name: string, value: string): boolean =>
  (name === 'src' || name === 'background') && isFileUrl(value);

/** The name of an attribute without the tags that decide whether it is there: `{% if … %}href`. */
export const withoutCondition = (name: string): string => name.replace(/^(?:\uFDD2\d+\uFDD1)+/, '');

/** Attributes of an element that stay, in their order; others are noted. `known`: names that are not of HTML. */
export function inertElement(
  tag: string,
  attribs: Attributes,
  sanitizing: Sanitizing,
  known?: RegExp,
): Record<string, string> {
  const kept: Record<string, string> = {};
  const conditions = Object.keys(attribs).map(tagPlaceholders).join('');
  const isWhole = sanitizing.mask.isWhole(conditions);
  if (!isWhole) sanitizing.removed(`<${tag}> with a merge tag that ends outside of it`);
  for (const [key, value] of Object.entries(attribs)) {
    const name = withoutCondition(key);
    const condition = isWhole ? tagPlaceholders(key) : '';
    const inert =
      name === '' || (!isWhole && key !== name) ? null : inertValue(name, value, known, sanitizing);
    if (inert !== null) kept[condition + name] = inert;
    else if (condition !== '') kept[condition] = '';
  }
  return kept;
}

/** The value that an attribute may have; null when it goes. */
function inertValue(
  name: string,
  value: string,
  known: RegExp | undefined,
  sanitizing: Sanitizing,
): string | null {
  const { mask, removed, showsFiles } = sanitizing;
  if (name === 'style') return sanitizeDeclarations(value, sanitizing) || null;
  const isKnown = ATTRIBUTE_SET.has(name) || OWN_NAME.test(name) || known?.test(name) === true;
  if (isKnown && showsFiles && showsFile(name, value)) return value;
  if (isKnown && isInertAttribute(name, value) && mask.isWhole(value)) return value;
  removed(`${name}="${value}"`);
  return null;
}

const ACTIVE_TAGS = new Set(
  (
    'script iframe frame frameset object embed applet form base link svg math audio video source track portal ' +
    'textarea select template noscript xmp plaintext'
  ).split(' '),
);

/**
 * Last check of compiled, masked HTML, whatever way it came: nothing in it may run, frame or submit.
 * @throws {ContentCompileError} naming the tag or attribute
 */
export function assertInert(maskedHtml: string, showsFiles: boolean): void {
  sanitizeHtml(maskedHtml, {
    onOpenTag: (tag, attribs) => {
      if (ACTIVE_TAGS.has(tag))
        throw new ContentCompileError(`content holds <${tag}>, which mail cannot carry`);
      for (const [key, value] of Object.entries(attribs)) {
        const name = withoutCondition(key);
        if (!isInertAttribute(name, value) && !(showsFiles && showsFile(name, value)))
          throw new ContentCompileError(`content holds an unsafe ${name} attribute`);
      }
    },
  });
}
