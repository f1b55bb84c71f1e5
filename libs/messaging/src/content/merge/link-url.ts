const SCHEME = /^([a-z][a-z0-9+.-]*):/i;
// What browsers drop before they look for a scheme (WHATWG URL, basic parser), and what looks like nothing.
const DROPPED_BY_BROWSERS = /[\p{Cc}\u00ad\u200b-\u200f\u2028\u2029\ufeff]/gu;
const SPACE_OR_BRACKET = /[\s<>"`{}|\\^]/;
/** Schemes of links that mail programs know what to do with. */
export const LINK_SCHEMES: readonly string[] = ['http', 'https', 'mailto', 'tel', 'sms', 'whatsapp'];
/** A URL whose scheme is written out. */
export const FIXED_SCHEME = /^\s*(?:https?:\/\/|mailto:|tel:|sms:|whatsapp:)/i;
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

/** What is wrong with a link that stands in mail content, in short words; null when it is fine. */
export function urlFault(url: string): string | null {
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
