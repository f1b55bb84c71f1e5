import { withoutUnseen } from './content-links.js';
import { decoded } from './content-view.js';
import { MergeTagMask, templatePieces } from '../merge/merge-tags.js';

const ADDRESS_TAG = /^\{\{-?\s*project\.postal_address\s*(?:\|[^}]*)?-?\}\}/;

/** True when a reader of an HTML or MJML template sees the postal address, by its merge tag or written out. */
export function showsAddress(html: string, postalAddress: string): boolean {
  const mask = new MergeTagMask();
  const seen = withoutUnseen(mask.hide(html).replaceAll(HEAD, ' ')).replaceAll(/<[^>]*>/g, ' ');
  return showsAddressInText(mask.restore(decoded(seen), '{ '), postalAddress);
}

/** The same of a text template. */
export function showsAddressInText(text: string, postalAddress: string): boolean {
  const pieces = templatePieces(text);
  if (pieces.some(({ kind, source }) => kind === 'output' && ADDRESS_TAG.test(source))) return true;
  const written = pieces.map(({ kind, source }) => (kind === 'text' ? source : ' ')).join('');
  const address = words(postalAddress);
  return address !== '' && ` ${words(written)} `.includes(` ${address} `);
}

/** Title and preview, which nobody reads in the mail itself. */
const HEAD = /<(mj-head|head)\b[^]*?<\/\1>/gi;

/** Letters and digits alone: lines, commas and case may differ. */
const words = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();
