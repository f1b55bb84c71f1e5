import { hash } from 'node:crypto';

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
  if (pieces.length === 0 && isLineEnd(body, end)) return body.subarray(0, end + 2);
  return Buffer.concat([...pieces, body.subarray(from, end), LINE_END]);
}

/** The `bh=` of a body: SHA-256 of its relaxed form, base64. */
export function relaxedBodyHash(body: Buffer): string {
  return hash('sha256', relaxedBody(body), 'base64');
}

const isBlank = (byte: number | undefined): boolean => byte === SPACE || byte === TAB;

const isLineEnd = (body: Buffer, at: number): boolean => body[at] === CR && body[at + 1] === LF;

function endOfBlanks(body: Buffer, from: number): number {
  let at = from;
  while (isBlank(body[at])) at += 1;
  return at;
}

/** Where the last line that is not empty ends, blanks at its end left out. */
function endOfContent(body: Buffer): number {
  let end = body.length;
  for (;;) {
    if (end > 0 && isBlank(body[end - 1])) end -= 1;
    else if (end > 1 && isLineEnd(body, end - 2)) end -= 2;
    else return end;
  }
}
