import { parse } from 'tldts';
import { compileMergeTemplate } from '../merge/merge-template.js';
import { holdsPlaceholder, MergeTagMask } from '../merge/merge-tags.js';
import { type MergeValues, SAMPLE_VALUES } from '../merge/merge-values.js';

/** Values that an address may name and still be the same for all recipients. */
export type SharedValues = Pick<MergeValues, 'campaign' | 'project'>;

/** HTML whose links and pixel wait for a recipient's tokens: `{{ tracking.place_0 }}` is the pixel's. */
interface TrackedHtml {
  readonly html: string;
  /** Targets of the links; the first one's place is 1. */
  readonly targets: readonly string[];
}

export interface LinkTracking {
  readonly baseUrl: string;
  readonly shared: SharedValues;
  /** Number of places of a mail that a token can name. */
  readonly places: number;
  /** An address whose visits are nobody's business: the privacy policy. */
  readonly untracked?: string | null;
}

const ANCHOR = /(<(?:a|area)\b(?:[^<>]*?[\s\uFDD1])?href\s*=\s*)(?:"([^"]*)"|'([^']*)')/gi;
const ANCHOR_END = /<\/a\s*>|$/gi;
const WEB = /^https?:\/\//i;
const VISIBLE_ASCII = /^[\u0021-\u007e]+$/;
const LONGEST_URL = 4_000;

/** The name, among the merge values, of the token of a place. */
export const placeName = (place: number): string => `place_${place}`;

/**
 * Leads the web links of compiled HTML past `baseUrl` and puts the open pixel at the end of its body. Equal addresses share a
 * place. Left as they are: links that differ between recipients (a subscriber's merge tag in the address, which includes the
 * unsubscribe, preferences and view links), mailto and tel, the sender's privacy policy, and links whose text is an address:
 * they would show one host and lead to another, as phishing does.
 */
export function trackHtml(
  html: string,
  { baseUrl, shared, places: most, untracked = null }: LinkTracking,
): TrackedHtml {
  const mask = new MergeTagMask();
  const masked = mask.hide(html);
  const places = new Map<string, number>();
  const slot = (place: number) => mask.hide(`{{ tracking.${placeName(place)} }}`);
  const linked = masked.replaceAll(ANCHOR, (...found) => {
    const [whole, before, double, single, at = 0] = found as [string, string, string?, string?, number?];
    const target = targetOf(double ?? single ?? '', mask, shared);
    if (target === null || target === untracked || showsHost(textOfLink(masked, at + whole.length)))
      return whole;
    const place = places.get(target) ?? places.size + 1;
    if (place >= most) return whole;
    places.set(target, place);
    return `${before}"${baseUrl}/l/${slot(place)}"`;
  });
  const pixel = `<img src="${baseUrl}/o/${slot(0)}" width="1" height="1" alt="" style="display:block;width:1px;height:1px;border:0" />`;
  return { html: mask.restore(withPixel(linked, pixel), '&#123;'), targets: [...places.keys()] };
}

/** Text of the link whose attributes go on at `from`. */
function textOfLink(masked: string, from: number): string {
  const begin = masked.indexOf('>', from) + 1;
  ANCHOR_END.lastIndex = begin;
  return masked.slice(begin, ANCHOR_END.exec(masked)?.index).replaceAll(/<[^>]*>|&(?:nbsp|#160);/g, ' ');
}

function withPixel(html: string, pixel: string): string {
  const end = html.toLowerCase().lastIndexOf('</body>');
  return end < 0 ? html + pixel : html.slice(0, end) + pixel + html.slice(end);
}

/** The one address that all recipients' link leads to; null when there is none, or it is not of the web. */
function targetOf(attribute: string, mask: MergeTagMask, shared: SharedValues): string | null {
  const decoded = decodeEntities(attribute.trim());
  if (decoded === null) return null;
  const url = holdsPlaceholder(decoded) ? sharedUrl(mask.restore(decoded, '{'), shared) : decoded;
  if (url === null || !WEB.test(url) || url.length > LONGEST_URL || !URL.canParse(url)) return null;
  // A header holds ASCII only; what is ASCII already stays as the author wrote it, to the byte.
  return VISIBLE_ASCII.test(url) ? url : new URL(url).href;
}

/** An address whose merge tags name only campaign and project, filled in; else null. */
function sharedUrl(source: string, shared: SharedValues): string | null {
  const template = compileMergeTemplate(source, 'none');
  if (!template.variables.every((name) => /^(?:campaign|project)\./.test(name))) return null;
  return template.render({ ...SAMPLE_VALUES, ...shared });
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', quot: '"', apos: "'", lt: '<', gt: '>' };

/** Null when the attribute holds an entity that is none of the five or a number: better untracked than elsewhere. */
function decodeEntities(attribute: string): string | null {
  let unknown = false;
  const decoded = attribute.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z][a-z\d]*));/gi, (...found) => {
    const [whole, decimal, hex, name] = found as (string | undefined)[];
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    if (code > 0 && code <= 0x10_ff_ff) return String.fromCodePoint(code);
    const character = NAMED[name?.toLowerCase() ?? ''];
    unknown ||= character === undefined;
    return character ?? whole ?? '';
  });
  return unknown ? null : decoded;
}

const WITH_SCHEME = /\bhttps?:\/\/\S/i;
/** Words that may be host names, `shop.com` of `Shop.com/x`; no part of an e-mail address. */
const HOST =
  /(?<![\p{L}\p{N}@._-])(?:[\p{L}\p{M}\p{N}_-]+\.)+[\p{L}\p{M}\p{N}-]{2,}(?![\p{L}\p{M}\p{N}@-])/giu;

/** True when a reader takes a part of a text for a web address: by its scheme, or by a top-level domain that exists. */
function showsHost(text: string): boolean {
  return WITH_SCHEME.test(text) || (text.match(HOST) ?? []).some((host) => parse(host).isIcann === true);
}
