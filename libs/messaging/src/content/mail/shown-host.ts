import { parse } from 'tldts';

const WITH_SCHEME = /\bhttps?:\/\/\S/i;
/** Words that may be host names, `shop.com` of `Shop.com/x`; no part of an e-mail address. */
const HOST =
  /(?<![\p{L}\p{N}@._-])(?:[\p{L}\p{M}\p{N}_-]+\.)+[\p{L}\p{M}\p{N}-]{2,}(?![\p{L}\p{M}\p{N}@-])/giu;

/** Whether a reader takes a part of a text for a web address: by its scheme, or by a top-level domain that exists. */
export function showsHost(text: string): boolean {
  return WITH_SCHEME.test(text) || (text.match(HOST) ?? []).some((host) => parse(host).isIcann === true);
}
