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

/** The tracking of one mail, whose merge tags are filled in. */
export interface MailTracking extends Pick<LinkTracking, 'baseUrl' | 'places'> {
  readonly opens: boolean;
  readonly clicks: boolean;
  /** Addresses that are left as they are: the privacy policy, and the ways by which its reader leaves a topic. */
  readonly untracked: readonly string[];
}

/** The HTML of one mail without its tokens. */
interface TrackedMailHtml extends Pick<TrackedHtml, 'targets'> {
  /** The HTML with the token that each place has; 0 is the pixel's. */
  readonly withTokens: (tokenOf: (place: number) => string) => string;
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
  { baseUrl, shared, places, untracked = null }: LinkTracking,
): TrackedHtml {
  const mask = new MergeTagMask();
  const { targets, withTokens } = track(
    mask.hide(html),
    { baseUrl, places, opens: true, clicks: true, untracked: untracked === null ? [] : [untracked] },
    (address) => sharedUrl(address, mask, shared),
  );
  const tracked = withTokens((place) => mask.hide(`{{ tracking.${placeName(place)} }}`));
  return { html: mask.restore(tracked, '&#123;'), targets };
}

/** The same of the HTML of one mail, all of whose links lead to an address of their own. */
export const trackMail = (html: string, tracking: MailTracking): TrackedMailHtml =>
  track(html, tracking, (address) => address);

/** @param urlOf the one address that a link leads to, whose attribute has `address`; null where there is none */
function track(
  html: string,
  { baseUrl, places: most, opens, clicks, untracked }: MailTracking,
  urlOf: (address: string) => string | null,
): TrackedMailHtml {
  const places = new Map<string, number>();
  /** Text, and places between. */
  const pieces: (string | number)[] = [];
  let end = 0;
  for (const found of clicks ? html.matchAll(ANCHOR) : []) {
    const [whole, before = '', double, single] = found;
    const behind = found.index + whole.length;
    const target = targetOf(double ?? single ?? '', urlOf);
    if (target === null || untracked.includes(target) || showsHost(textOfLink(html, behind))) continue;
    const place = places.get(target) ?? places.size + 1;
    if (place >= most) continue;
    places.set(target, place);
    pieces.push(`${html.slice(end, found.index)}${before}"${baseUrl}/l/`, place, '"');
    end = behind;
  }
  pieces.push(...(opens ? withPixel(html.slice(end), baseUrl) : [html.slice(end)]));
  return {
    targets: [...places.keys()],
    withTokens: (tokenOf) =>
      pieces.map((piece) => (typeof piece === 'number' ? tokenOf(piece) : piece)).join(''),
  };
}

/** Text of the link whose attributes go on at `from`. */
function textOfLink(masked: string, from: number): string {
  const begin = masked.indexOf('>', from) + 1;
  ANCHOR_END.lastIndex = begin;
  return masked.slice(begin, ANCHOR_END.exec(masked)?.index).replaceAll(/<[^>]*>|&(?:nbsp|#160);/g, ' ');
}

const BODY_END = /<\/body\s*>/gi;

/** HTML up to the end of the document, in pieces, with the pixel at the end of its body. */
function withPixel(html: string, baseUrl: string): (string | number)[] {
  const end = [...html.matchAll(BODY_END)].at(-1)?.index ?? html.length;
  const rest = '" width="1" height="1" alt="" style="display:block;width:1px;height:1px;border:0" />';
  return [`${html.slice(0, end)}<img src="${baseUrl}/o/`, 0, rest + html.slice(end)];
}

/** The address that a link leads to; null when there is none, or it is not of the web. */
function targetOf(attribute: string, urlOf: (address: string) => string | null): string | null {
  const decoded = decodeEntities(attribute.trim());
  const url = decoded === null ? null : urlOf(decoded);
  if (url === null || !WEB.test(url) || url.length > LONGEST_URL || !URL.canParse(url)) return null;
  // A header holds ASCII only; what is ASCII already stays as the author wrote it, to the byte.
  return VISIBLE_ASCII.test(url) ? url : new URL(url).href;
}

/** The masked address that all recipients' link leads to: its merge tags, if any, name only campaign and project. */
function sharedUrl(masked: string, mask: MergeTagMask, shared: SharedValues): string | null {
  if (!holdsPlaceholder(masked)) return masked;
  const template = compileMergeTemplate(mask.restore(masked, '{'), 'none');
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
