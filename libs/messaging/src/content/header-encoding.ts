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
const HEADER_NAME = /^[!-9;-~]+$/;

/** RFC 5322 §2.1.1. */
const LINE_LIMIT = 998;
/** RFC 2047 §2: a line that holds an encoded word, and the word itself. */
const ENCODED_LINE_LIMIT = 76;
const ENCODED_WORD_LIMIT = 75;

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

/**
 * UTF-8 text as encoded words of at most 75 characters that split between characters only (RFC 2047 §5),
 * separated by single blanks, which a reader removes again.
 */
function encodedWords(text: string, firstLimit: number): string {
  const wellFormed = text.toWellFormed();
  const encode = cheaperEncoding(wellFormed);
  const words: string[] = [];
  let room = Math.min(firstLimit, ENCODED_WORD_LIMIT) - encode.overhead;
  let chunk = '';
  let size = 0;
  for (const character of wellFormed) {
    const grown = size + encode.sizeOf(character);
    if (chunk !== '' && encode.lengthOf(grown) > room) {
      words.push(encode.word(chunk));
      room = ENCODED_WORD_LIMIT - encode.overhead;
      chunk = '';
      size = 0;
    }
    chunk += character;
    size += encode.sizeOf(character);
  }
  return [...words, encode.word(chunk)].join(' ');
}

interface WordEncoding {
  readonly overhead: number;
  /** Units of a character, and the encoded length of so many units. */
  sizeOf(character: string): number;
  lengthOf(size: number): number;
  word(text: string): string;
}

const Q_SAFE = /[A-Za-z0-9!*+/-]/;

const Q: WordEncoding = {
  overhead: '=?UTF-8?Q??='.length,
  sizeOf: (character) => (character === ' ' || Q_SAFE.test(character) ? 1 : 3 * Buffer.byteLength(character)),
  lengthOf: (size) => size,
  word: (text) => {
    let encoded = '';
    for (const byte of Buffer.from(text)) {
      const character = String.fromCharCode(byte);
      if (byte === 0x20) encoded += '_';
      else
        encoded += Q_SAFE.test(character)
          ? character
          : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    }
    return `=?UTF-8?Q?${encoded}?=`;
  },
};

const B: WordEncoding = {
  overhead: '=?UTF-8?B??='.length,
  sizeOf: (character) => Buffer.byteLength(character),
  lengthOf: (size) => 4 * Math.ceil(size / 3),
  word: (text) => `=?UTF-8?B?${Buffer.from(text).toString('base64')}?=`,
};

function cheaperEncoding(text: string): WordEncoding {
  let quoted = 0;
  for (const character of text) quoted += Q.sizeOf(character);
  return quoted <= B.lengthOf(Buffer.byteLength(text)) ? Q : B;
}
