import type { Octets } from '#kernel';
import type { MergeTemplate } from '../merge/merge-template.js';
import type { MergeValues } from '../merge/merge-values.js';

/** A body part ready for the wire: lines ended by CRLF, none of which begins with a dot, and its transfer encoding. */
export interface EncodedBody {
  readonly encoding: '7bit' | 'quoted-printable' | 'base64';
  readonly content: readonly Octets[];
}

const LINE_LIMIT = 76;
const CR = 0x0d;
const LF = 0x0a;
const DOT = 0x2e;
const EQUALS = 0x3d;
const HEX = Buffer.from('0123456789ABCDEF');

/** Above this share of bytes that quoted-printable triples, base64 (4/3 and line ends) is shorter. */
const BASE64_SHARE = 0.19;

// Bytes that stand for themselves in quoted-printable; blanks and tabs depend on what follows (RFC 2045 §6.7).
const LITERAL = Uint8Array.from({ length: 256 }, (_, byte) =>
  (byte >= 0x20 && byte <= 0x7e && byte !== EQUALS) || byte === 0x09 ? 1 : 0,
);

const TRIPLED = LITERAL.map((literal, byte) => (literal === 1 || byte === CR || byte === LF ? 0 : 1));

const canonicalLines = (text: string): string =>
  (text === '' ? ' ' : text).toWellFormed().replaceAll(/\r\n|\r|\n/g, '\r\n');

/** Short printable lines that nobody would touch: no `From ` (mbox), no dot (SMTP), no blank at the end, no `=_` boundary. */
const isPlain = (canonical: string): boolean =>
  !/[^\t\r\n -~]/.test(canonical) &&
  !/[ \t](?:\r|$)/.test(canonical) &&
  !/^(?:From |\.)/m.test(canonical) &&
  !canonical.includes('=_') &&
  longestLine(canonical) <= LINE_LIMIT;

function longestLine(canonical: string): number {
  let longest = 0;
  for (let from = 0; from <= canonical.length;) {
    const lineEnd = canonical.indexOf('\r', from);
    const end = lineEnd < 0 ? canonical.length : lineEnd;
    longest = Math.max(longest, end - from);
    from = end + 2;
  }
  return longest;
}

/** A body that is encoded once for all recipients, but for its slots. */
interface BodySkeleton {
  build(values: MergeValues): EncodedBody;
}

const SOFT_BREAK = '=\r\n';

/**
 * Encodes the fixed texts of a template ahead. A slot stands between two soft line breaks, which vanish in
 * decoding (RFC 2045 §6.7), so that only its own content is left to be encoded. A template with logic, or one
 * that base64 suits better, is encoded whole each time.
 */
export function compileBody(template: MergeTemplate): BodySkeleton {
  const { slots } = template;
  if (slots === undefined || prefersBase64(Buffer.from(slots.texts.join('')))) {
    return { build: (values) => encodeBody(template.render(values)) };
  }
  const last = slots.texts.length - 1;
  const texts = slots.texts.map((text, index) =>
    Buffer.from(
      (index === 0 ? '' : SOFT_BREAK) + quotedPrintableText(text) + (index === last ? '' : SOFT_BREAK),
      'latin1',
    ),
  );
  return {
    build: (values) => {
      const content: Octets[] = texts.slice(0, 1);
      slots.fill(values).forEach((slot, index) => {
        content.push(quotedPrintableSlot(slot), texts[index + 1] ?? '');
      });
      return { encoding: 'quoted-printable', content };
    },
  };
}

/** Text that quoted-printable only folds: printable ASCII without `=` and with no dot at its beginning. */
const PRINTABLE = /^(?!\.)[ -<>-~]*$/;

/** The same as `quotedPrintableText`, without a look at each octet where none has to be encoded: names, and our long links. */
function quotedPrintableSlot(slot: string): string {
  if (!PRINTABLE.test(slot)) return quotedPrintableText(slot);
  let folded = slot.slice(0, LINE_LIMIT - 1);
  for (let at = folded.length; at < slot.length; at += LINE_LIMIT - 1) {
    if (slot[at] === '.') return quotedPrintableText(slot);
    folded += SOFT_BREAK + slot.slice(at, at + LINE_LIMIT - 1);
  }
  return folded;
}

function quotedPrintableText(text: string): string {
  return text === '' ? '' : quotedPrintable(Buffer.from(canonicalLines(text))).toString('latin1');
}

/** Encodes a text body as 7bit, quoted-printable or base64, whichever is safe and short. */
export function encodeBody(text: string): EncodedBody {
  const canonical = canonicalLines(text);
  if (isPlain(canonical)) return { encoding: '7bit', content: [canonical] };
  const bytes = Buffer.from(canonical);
  return prefersBase64(bytes)
    ? { encoding: 'base64', content: [base64Lines(bytes)] }
    : { encoding: 'quoted-printable', content: [quotedPrintable(bytes)] };
}

function prefersBase64(bytes: Buffer): boolean {
  return tripledBytes(bytes) > bytes.length * BASE64_SHARE;
}

function tripledBytes(bytes: Buffer): number {
  let count = 0;
  for (let index = 0; index < bytes.length; index += 1) count += TRIPLED[bytes[index] ?? 0] ?? 0;
  return count;
}

/** Base64 in lines of 76 characters (RFC 2045 §6.8), without the line end of the last. */
export function base64Lines(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll(/.{76}(?=.)/g, '$&\r\n');
}

const sequenceLength = (lead: number): number => (lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4);

/** RFC 2045 §6.7; soft breaks never split a UTF-8 character, and no line begins with a dot. `bytes` has CRLF line ends only. */
function quotedPrintable(bytes: Buffer): Buffer {
  const out = Buffer.allocUnsafe(bytes.length * 3 + Math.ceil(bytes.length / 12) * 3 + 8);
  const end = bytes.length;
  let at = 0;
  let column = 0;
  for (let index = 0; index < end; index += 1) {
    const byte = bytes[index] ?? 0;
    if (byte === CR) {
      out[at++] = CR;
      out[at++] = LF;
      index += 1;
      column = 0;
      continue;
    }
    const endsLine = index + 1 >= end || bytes[index + 1] === CR;
    const literal = LITERAL[byte] === 1 && !(endsLine && (byte === 0x20 || byte === 0x09));
    const needed = literal ? 1 : byte < 0xc0 ? 3 : 3 * sequenceLength(byte);
    // A continuation byte never starts a line: its lead byte has made room for the whole character.
    const limit = endsLine && index + 1 < end ? LINE_LIMIT : LINE_LIMIT - 1;
    if (column + needed > limit && (byte & 0xc0) !== 0x80) {
      out[at++] = EQUALS;
      out[at++] = CR;
      out[at++] = LF;
      column = 0;
    }
    if (literal && (byte !== DOT || column > 0)) {
      out[at++] = byte;
      column += 1;
    } else {
      out[at++] = EQUALS;
      out[at++] = HEX[byte >> 4] ?? 0;
      out[at++] = HEX[byte & 15] ?? 0;
      column += 3;
    }
  }
  return out.subarray(0, at);
}
