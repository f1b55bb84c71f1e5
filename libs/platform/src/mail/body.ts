import { isAscii } from 'node:buffer';

const CR = 0x0d;
const LF = 0x0a;
const DOT = 0x2e;

/** A message as it goes over the wire after the 354 reply. */
export interface Body {
  /** Dot-stuffed, with the line `.` that ends it; in pieces, so that a message without such dots is not copied. */
  readonly octets: readonly Buffer[];
  /** Octets of the message itself, as the SIZE parameter counts them (RFC 1870 §5). */
  readonly size: number;
  readonly isAscii: boolean;
}

/**
 * Makes the body of RFC 5321 §4.5.2: every line that begins with a dot gets another, the end is
 * CRLF.CRLF. Bare CR and LF become CRLF, so that no message can end itself early (SMTP smuggling).
 */
export function bodyOf(raw: Buffer): Body {
  // A native search of a string takes a ninth of the time of one of a buffer, the conversion included.
  const text = raw.toString('latin1');
  const isCanonical = !hasBareLineBreak(text);
  const message = isCanonical ? raw : Buffer.from(text.replaceAll(/\r\n|\r|\n/g, '\r\n'), 'latin1');
  const ends = message.length === 0 || message[message.length - 1] === LF;
  const terminator = Buffer.from(ends ? '.\r\n' : '\r\n.\r\n');
  const hasDots = message[0] === DOT || !isCanonical || text.includes('\n.');
  return {
    octets: [...(hasDots ? stuffed(message) : [message]), terminator],
    size: message.length + (ends ? 0 : 2),
    isAscii: isAscii(raw),
  };
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
function stuffed(message: Buffer): Buffer[] {
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
