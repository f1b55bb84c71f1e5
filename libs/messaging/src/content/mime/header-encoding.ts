import { createRequire } from 'node:module';
import type libmime from 'libmime';

/** A header name or value that must not go on the wire. */
export class HeaderValueError extends Error {
  override readonly name = 'HeaderValueError';

  constructor(
    readonly header: string,
    reason: string,
  ) {
    super(`${header}: ${reason}`);
  }
}

const CONTROL = /[^\P{Cc}\u0080-\u009f]/u;
const PRINTABLE_ASCII = /^[ -~]*$/;
/** RFC 5322 §3.6.8, but for a dot at the beginning, which SMTP would double. */
const HEADER_NAME = /^(?!\.)[!-9;-~]+$/;

/** RFC 5322 §2.1.1. */
const LINE_LIMIT = 998;
/** RFC 2047 §2: a line that holds an encoded word. */
const ENCODED_LINE_LIMIT = 76;

/** @throws {HeaderValueError} when the value holds C0 or DEL, which could end the field or hide another one */
export function assertHeaderValue(name: string, value: string): void {
  if (CONTROL.test(value)) throw new HeaderValueError(name, 'holds a control character');
}

/**
 * A header field, folded, with its CRLF. Only existing blanks are folded, so a URL or an address never breaks;
 * the first token stays on the line of the name.
 * @throws {HeaderValueError} on control characters, a bad name or a token that no line can hold
 */
export function foldHeader(name: string, value: string): string {
  if (!HEADER_NAME.test(name)) throw new HeaderValueError(name, 'is not a header name');
  assertHeaderValue(name, value);
  let line = `${name}:`;
  let field = '';
  for (const [index, token] of value
    .trim()
    .split(/ +(?=[^ ])/)
    .entries()) {
    if (index > 0 && line.length + 1 + token.length > ENCODED_LINE_LIMIT) {
      field += `${line}\r\n`;
      line = '';
    }
    line += ` ${token}`;
    if (Buffer.byteLength(line) > LINE_LIMIT) throw new HeaderValueError(name, 'is too long for a line');
  }
  return `${field}${line}\r\n`;
}

/** True when unstructured text can stand in a header as it is: no reader may see anything else than was meant. */
const standsAsIs = (text: string): boolean =>
  PRINTABLE_ASCII.test(text) && !text.includes('=?') && !/^ | $| {2}/.test(text) && !/[^ ]{77}/.test(text);

/** An unstructured header (Subject) of any text, in encoded words where needed (RFC 2047). */
export function unstructuredHeader(name: string, text: string): string {
  assertHeaderValue(name, text);
  return foldHeader(name, standsAsIs(text) ? text : encodedWords(text, ENCODED_LINE_LIMIT - name.length - 2));
}

const ATOMS = /^[\w!#$%&'*+/=?^`{|}~-]+(?: [\w!#$%&'*+/=?^`{|}~-]+)*$/;
const QUOTABLE_LENGTH = 60;

/** A display name or list name as a phrase: atoms, a quoted string, or encoded words (RFC 5322 §3.2.5). */
export function phrase(header: string, text: string): string {
  assertHeaderValue(header, text);
  const quotable = standsAsIs(text) && text.length <= QUOTABLE_LENGTH;
  if (quotable && ATOMS.test(text)) return text;
  if (quotable) return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
  return encodedWords(text, ENCODED_LINE_LIMIT - header.length - 2);
}

const require = createRequire(import.meta.url);
/** Loaded for the first such text: its tables of encodings take 2 MB, and an api hardly ever needs them. */
let encoder: typeof libmime | undefined;

/**
 * UTF-8 text as encoded words that split between characters only (RFC 2047 §5), separated by single blanks, which a
 * reader removes again.
 */
function encodedWords(text: string, limit: number): string {
  const wellFormed = text.toWellFormed();
  encoder ??= require('libmime') as typeof libmime;
  const quoted = encoder.encodeWord(wellFormed, 'Q', limit);
  const base64 = encoder.encodeWord(wellFormed, 'B', limit);
  return quoted.length <= base64.length ? quoted : base64;
}
