import { isAscii } from 'node:buffer';

const CR = 0x0d;
const LF = 0x0a;
const DOT = 0x2e;
const LINE_END = Buffer.from('\r\n');
const END_OF_DATA = Buffer.from('.\r\n');

/** A message as it goes over the wire, in pieces, so that it is not copied for what is put between or behind them. */
export interface Body {
  /** The message itself, every line ended by CRLF: what BDAT carries (RFC 3030 §2). */
  readonly octets: readonly Buffer[];
  /** Octets of the message itself, as the SIZE parameter counts them (RFC 1870 §5). */
  readonly size: number;
  /** Of which so many are its first line; 0 where there is no other. */
  readonly firstLine: number;
  readonly isAscii: boolean;
  /** Whether its headers are, so that it needs no SMTPUTF8 (RFC 6531 §3.4). */
  readonly hasAsciiHeaders: boolean;
  /** What DATA carries: dot-stuffed, with the line `.` that ends it (RFC 5321 §4.5.2). */
  stuffed(): Buffer[];
}

/** Bare CR and LF become CRLF, so that no message can end itself early, here or at a later relay (SMTP smuggling). */
export function bodyOf(raw: Buffer): Body {
  // A native search of a string takes a ninth of the time of one of a buffer, the conversion included.
  const text = raw.toString('latin1');
  const isCanonical = !hasBareLineBreak(text);
  const message = isCanonical ? raw : Buffer.from(text.replaceAll(/\r\n|\r|\n/g, '\r\n'), 'latin1');
  const ends = message.length === 0 || message[message.length - 1] === LF;
  const hasDots = message[0] === DOT || !isCanonical || text.includes('\n.');
  const missing = ends ? [] : [LINE_END];
  const firstLine = message.indexOf(LF) + 1;
  const ascii = isAscii(raw);
  return {
    octets: [message, ...missing],
    size: message.length + (ends ? 0 : 2),
    firstLine: firstLine === message.length ? 0 : firstLine,
    isAscii: ascii,
    hasAsciiHeaders: ascii || isAscii(headersOf(message)),
    stuffed: () => [...(hasDots ? doubled(message) : [message]), ...missing, END_OF_DATA],
  };
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
function doubled(message: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  let from = 0;
  if (message[0] === DOT) pieces.push(Buffer.of(DOT));
  for (let at = message.indexOf('\n.'); at !== -1; at = message.indexOf('\n.', at + 1)) {
    pieces.push(message.subarray(from, at + 1), Buffer.of(DOT));
    from = at + 1;
  }
  pieces.push(message.subarray(from));
  return pieces;
}
