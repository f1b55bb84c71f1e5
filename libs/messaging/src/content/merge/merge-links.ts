import {
  beforePlaceholder,
  beginsWithOutput,
  holdsPlaceholder,
  type TemplatePiece,
  withoutPlaceholders,
} from './merge-tags.js';

const SCHEME = /^([a-z][a-z0-9+.-]*):/i;
// Dropped by browsers before they look for a scheme (WHATWG URL, basic parser), or invisible.
const DROPPED_BY_BROWSERS = /[\p{Cc}\u00ad\u200b-\u200f\u2028\u2029\ufeff]/gu;
const SPACE_OR_BRACKET = /[\s<>"`{}|\\^]/;
/** Schemes of links that mail programs know what to do with. */
export const LINK_SCHEMES: readonly string[] = ['http', 'https', 'mailto', 'tel', 'sms', 'whatsapp'];
/** A URL whose scheme is written out. */
export const FIXED_SCHEME = /^\s*(?:https?:\/\/|mailto:|tel:|sms:|whatsapp:)/i;
/** A file that goes with the mail, by its Content-ID (RFC 2392). */
const FILE_URL = /^\s*cid:[\w!#$%&*+/=?^|~.@-]+\s*$/i;
/** A place in the same mail: an `id` or the `name` of an `a`. */
const ANCHOR = /^#[^\s#<>"`{}|\\^]+$/;

/** The scheme a browser would see, in lower case; null for a relative URL. */
export function schemeOf(url: string): string | null {
  return SCHEME.exec(url.replaceAll(DROPPED_BY_BROWSERS, '').trim())?.[1]?.toLowerCase() ?? null;
}

/** True when the URL names a scheme that mail content must not use (`javascript:`, `data:`, …). */
export function hasForbiddenScheme(url: string): boolean {
  const scheme = schemeOf(url);
  return scheme !== null && !LINK_SCHEMES.includes(scheme);
}

/** True for `cid:` with a whole Content-ID, which no merge tag is part of. */
export const isFileUrl = (url: string): boolean => FILE_URL.test(url);

/** Fault of a link in mail content, in short words; null when it is fine. */
function urlFault(url: string): string | null {
  const trimmed = url.trim();
  if (trimmed === '') return 'is empty';
  if (ANCHOR.test(trimmed)) return null;
  if (hasForbiddenScheme(trimmed)) return 'must be an http, https, mailto, tel, sms or whatsapp link';
  const scheme = SCHEME.exec(trimmed)?.[1]?.toLowerCase();
  if (scheme === undefined) return 'must be a full URL, beginning with https://';
  if (SPACE_OR_BRACKET.test(trimmed)) return 'holds a character that a URL cannot hold';
  if (scheme === 'mailto')
    return /^mailto:[^@?]+@[^@?]+/i.test(trimmed) ? null : 'is not a valid mailto link';
  if (scheme === 'whatsapp') return null;
  if (scheme === 'sms')
    return /^sms:\+?[\d().*#,-]*(?:[?&]\S*)?$/i.test(trimmed) ? null : 'is not a valid sms link';
  if (scheme === 'tel') return /^tel:\+?[\d().*#;=a-z-]+$/i.test(trimmed) ? null : 'is not a valid tel link';
  return isWebUrl(trimmed) ? null : 'is not a valid URL';
}

function isWebUrl(url: string): boolean {
  if (!/^https?:\/\/[^/]/i.test(url) || !URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return hostname.length > 0 && !hostname.startsWith('.') && !hostname.includes('..');
}

/**
 * Fault of a masked URL that may hold merge tags; null when it is fine. It may begin with an output tag, whose value is
 * checked when it is filled in; before any later tag its scheme must be written out.
 */
export function mergeUrlFault(masked: string): string | null {
  const url = masked.trim();
  if (!holdsPlaceholder(url)) return urlFault(url);
  if (beginsWithOutput(url)) return null;
  if (!FIXED_SCHEME.test(beforePlaceholder(url)) && !url.startsWith('#')) {
    return 'must begin with https://, http://, mailto:, tel:, sms:, whatsapp:, # or a merge tag';
  }
  return /[\s<>"`\\]/.test(withoutPlaceholders(url)) ? 'holds a character that a URL cannot hold' : null;
}

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
  /** Text of the author in it since the last output tag. */
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
