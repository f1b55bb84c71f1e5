/** A piece of a message: octets, or a text of ASCII characters. */
export type Octets = Buffer | string;

/** One buffer of all pieces, the only one that is made: a mail of 16 KB would else be copied three times. */
export function joinOctets(pieces: readonly Octets[]): Buffer {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  const joined = Buffer.allocUnsafe(length);
  let at = 0;
  for (const piece of pieces) {
    if (typeof piece === 'string') joined.write(piece, at, 'latin1');
    else joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}
