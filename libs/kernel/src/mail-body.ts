/** A piece of a message: octets, or a text of which each character is one (Latin-1). */
export type Octets = Buffer | string;

/** A message as it goes over the wire, looked through once, by its maker. */
export interface MailBody {
  /** Every line is ended by CRLF, the last one too. */
  readonly pieces: readonly Octets[];
  /** Octets, as the SIZE parameter counts them (RFC 1870 §5). */
  readonly size: number;
  readonly isAscii: boolean;
  /** Without these it needs SMTPUTF8 (RFC 6531 §3.4). */
  readonly hasAsciiHeaders: boolean;
  /** A line begins with a dot, which DATA has to double (RFC 5321 §4.5.2). */
  readonly hasDots: boolean;
}

export function sizeOf(pieces: readonly Octets[]): number {
  let size = 0;
  for (const piece of pieces) size += piece.length;
  return size;
}

/** The pieces joined at the beginning of `memory`, which has room for them. */
export function joinOctets(pieces: readonly Octets[], memory: Buffer): Buffer {
  let at = 0;
  for (const piece of pieces) {
    if (typeof piece === 'string') memory.write(piece, at, 'latin1');
    else memory.set(piece, at);
    at += piece.length;
  }
  return memory.subarray(0, at);
}

/** The message as one buffer. */
export function octetsOf({ pieces, size }: MailBody): Buffer {
  return joinOctets(pieces, Buffer.allocUnsafe(size));
}
