import { isAscii } from 'node:buffer';

const CR = 0x0d;
const LF = 0x0a;
const DOT = 0x2e;
const END_OF_DATA = '.\r\n';

/** A piece of a message: octets, or a text of which each character is one (Latin-1). */
export type Octets = Buffer | string;

/** A message as it goes over the wire: pieces that who made them has looked through, so that nobody has to do it again. */
export interface Body {
  /** Every line is ended by CRLF, the last one too: what BDAT carries (RFC 3030 §2). */
  readonly pieces: readonly Octets[];
  /** Octets, as the SIZE parameter counts them (RFC 1870 §5). */
  readonly size: number;
  readonly isAscii: boolean;
  /** Whether its headers are, so that it needs no SMTPUTF8 (RFC 6531 §3.4). */
  readonly hasAsciiHeaders: boolean;
  /** Whether a line of it begins with a dot, which DATA has to double (RFC 5321 §4.5.2). */
  readonly hasDots: boolean;
}

/** Bare CR and LF become CRLF, so that no message can end itself early, here or at a later relay (SMTP smuggling). */
export function bodyOf(raw: Buffer): Body {
  // A native search of a string takes a ninth of the time of one of a buffer, the conversion included.
  const text = raw.toString('latin1');
  const isCanonical = !hasBareLineBreak(text);
  const message = isCanonical ? raw : Buffer.from(text.replaceAll(/\r\n|\r|\n/g, '\r\n'), 'latin1');
  const ends = message.length === 0 || message[message.length - 1] === LF;
  const ascii = isAscii(raw);
  const pieces = ends ? [message] : [message, '\r\n'];
  return {
    pieces,
    size: sizeOf(pieces),
    isAscii: ascii,
    hasAsciiHeaders: ascii || isAscii(headersOf(message)),
    hasDots: message[0] === DOT || !isCanonical || text.includes('\n.'),
  };
}

/** What DATA carries: dot-stuffed, with the line `.` that ends it (RFC 5321 §4.5.2). */
export function dataOf(body: Body): readonly Octets[] {
  return (body.hasDots ? doubled(octetsOf(body)) : body.pieces).concat(END_OF_DATA);
}

export function sizeOf(pieces: readonly Octets[]): number {
  let size = 0;
  for (const piece of pieces) size += piece.length;
  return size;
}

/** The pieces one behind the other, at the beginning of `memory`, which has room for them. */
export function joinOctets(pieces: readonly Octets[], memory: Buffer): Buffer {
  let at = 0;
  for (const piece of pieces) {
    if (typeof piece === 'string') memory.write(piece, at, 'latin1');
    else memory.set(piece, at);
    at += piece.length;
  }
  return memory.subarray(0, at);
}

/** How many octets its first line has; 0 where there is no other. */
export function firstLineOf({ pieces: [first = ''], size }: Body): number {
  const end = first.indexOf('\n') + 1;
  return end < size ? end : 0;
}

/** The message as one buffer. */
export function octetsOf({ pieces, size }: Body): Buffer {
  return joinOctets(pieces, Buffer.allocUnsafe(size));
}

function headersOf(message: Buffer): Buffer {
  const end = message.indexOf('\r\n\r\n');
  return end === -1 ? message : message.subarray(0, end);
}

function hasBareLineBreak(text: string): boolean {
  let pairs = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    if (text.charCodeAt(at - 1) !== CR) return true;
    pairs++;
  }
  for (let at = text.indexOf('\r'); at !== -1; at = text.indexOf('\r', at + 1)) pairs--;
  return pairs !== 0;
}

/** The message cut before each dot that has to be doubled. */
function doubled(message: Buffer): Octets[] {
  const pieces: Octets[] = [];
  let from = 0;
  if (message[0] === DOT) pieces.push('.');
  for (let at = message.indexOf('\n.'); at !== -1; at = message.indexOf('\n.', at + 1)) {
    pieces.push(message.subarray(from, at + 1), '.');
    from = at + 1;
  }
  pieces.push(message.subarray(from));
  return pieces;
}
