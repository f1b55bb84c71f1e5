import { createHash, hash } from 'node:crypto';

/** A header field as it stands in a message. */
export interface HeaderField {
  readonly name: string;
  /** Lower case, as fields are told apart. */
  readonly key: string;
  /** The text after the colon, folded as it was, without the last line end. */
  readonly value: string;
}

/** A message that cannot be signed. */
export class UnsignableMessageError extends Error {
  override readonly name = 'UnsignableMessageError';
}

const FIELD = /^([!-9;-~]+)[ \t]*:([^]*)$/;

/**
 * The fields of a header section, in order. `head` has one character a byte (latin1), so that bytes survive.
 * @throws {UnsignableMessageError} when a line is no field and no continuation
 */
export function headerFields(head: string): HeaderField[] {
  return head.split(/\r\n(?![ \t])/).map((text) => {
    const match = FIELD.exec(text);
    if (match === null) throw new UnsignableMessageError('A line of the header section is no header field.');
    const [, name = '', value = ''] = match;
    return { name, key: name.toLowerCase(), value };
  });
}

/** The field as the relaxed canonicalisation has it, without its line end (RFC 6376 §3.4.2). */
export function relaxedField({ key, value }: Pick<HeaderField, 'key' | 'value'>): string {
  // Most fields are one line with a space after the colon and no run of blanks.
  const single = IRREGULAR.test(value) ? value.replaceAll(BLANKS, ' ') : value;
  const from = single.startsWith(' ') ? 1 : 0;
  return `${key}:${single.slice(from, single.endsWith(' ') ? Math.max(from, single.length - 1) : single.length)}`;
}

const IRREGULAR = /[\t\r]| {2}/;
const BLANKS = /(?:\r\n(?=[ \t])|[ \t])+/g;

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const ONE_SPACE = Buffer.from(' ');
const LINE_END = Buffer.from('\r\n');

/**
 * The body as the relaxed canonicalisation has it (RFC 6376 §3.4.4): no blanks at a line's end, runs of blanks as one
 * space, no empty lines at the end, CRLF after the last line, and nothing at all of an empty body. One pass; what is
 * in that form already is not copied.
 */
export function relaxedBody(body: Buffer): Buffer {
  const end = endOfContent(body);
  if (end === 0) return body.subarray(0, 0);
  const pieces = relaxedPieces(body, end);
  if (pieces.length === 1 && isLineEnd(body, end)) return body.subarray(0, end + 2);
  return Buffer.concat([...pieces, LINE_END]);
}

/** The relaxed form of what is before `end`, which no blank and no line end precedes, as parts of it. */
function relaxedPieces(body: Buffer, end: number): Buffer[] {
  const pieces: Buffer[] = [];
  let from = 0;
  for (let at = 0; at < end; at += 1) {
    const byte = body[at] ?? 0;
    if (byte > SPACE || (byte !== SPACE && byte !== TAB)) continue;
    if (byte === SPACE && (body[at + 1] ?? 0) > SPACE) continue;
    const next = endOfBlanks(body, at + 1);
    const endsLine = isLineEnd(body, next);
    // One space of a run can be kept where it stands; a tab cannot.
    const keepsOne = !endsLine && byte === SPACE;
    pieces.push(body.subarray(from, keepsOne ? at + 1 : at));
    if (!endsLine && byte === TAB) pieces.push(ONE_SPACE);
    from = next;
    at = next - 1;
  }
  pieces.push(body.subarray(from, end));
  return pieces;
}

/** The `bh=` of a body: SHA-256 of its relaxed form, base64. */
export function relaxedBodyHash(body: Buffer): string {
  return hash('sha256', relaxedBody(body), 'base64');
}

/** `relaxedBodyHash` of a body that comes in chunks, whatever they cut apart. */
export class RelaxedBodyHash {
  readonly #hash = createHash('sha256');
  /** Blanks and line ends, which may be a line's or the body's last. */
  #undecided: Buffer = Buffer.alloc(0);
  #isEmpty = true;

  update(chunk: Buffer): void {
    const body = this.#undecided.length === 0 ? chunk : Buffer.concat([this.#undecided, chunk]);
    let end = body.length;
    while (isBlank(body[end - 1]) || body[end - 1] === CR || body[end - 1] === LF) end -= 1;
    if (end > 0) {
      for (const piece of relaxedPieces(body, end)) this.#hash.update(piece);
      this.#isEmpty = false;
    }
    this.#undecided = body.subarray(end);
  }

  /** base64. */
  digest(): string {
    const rest = relaxedBody(this.#undecided);
    if (rest.length > 0) this.#hash.update(rest);
    else if (!this.#isEmpty) this.#hash.update(LINE_END);
    return this.#hash.digest('base64');
  }
}

const isBlank = (byte: number | undefined): boolean => byte === SPACE || byte === TAB;

const isLineEnd = (body: Buffer, at: number): boolean => body[at] === CR && body[at + 1] === LF;

function endOfBlanks(body: Buffer, from: number): number {
  let at = from;
  while (isBlank(body[at])) at += 1;
  return at;
}

/** End of the last line that is not empty, without blanks at its end. */
function endOfContent(body: Buffer): number {
  let end = body.length;
  for (;;) {
    if (end > 0 && isBlank(body[end - 1])) end -= 1;
    else if (end > 1 && isLineEnd(body, end - 2)) end -= 2;
    else return end;
  }
}
