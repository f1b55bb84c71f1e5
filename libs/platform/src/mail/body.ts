import { isAscii } from 'node:buffer';
import { type MailBody, type Octets, octetsOf, sizeOf } from '#kernel';

const CR = 0x0d;
const LF = 0x0a;
const DOT = 0x2e;
const END_OF_DATA = '.\r\n';

/** Bare CR and LF become CRLF, so that no message can end itself early, here or at a later relay (SMTP smuggling). */
export function bodyOf(raw: Buffer): MailBody {
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
export function dataOf(body: MailBody): readonly Octets[] {
  return (body.hasDots ? doubled(octetsOf(body)) : body.pieces).concat(END_OF_DATA);
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
