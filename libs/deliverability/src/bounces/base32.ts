const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** The bytes in lower-case base32 without padding (RFC 4648 §6): it survives a change of case. */
export function base32(bytes: Uint8Array): string {
  let text = '';
  let pending = 0;
  let bits = 0;
  for (const byte of bytes) {
    pending = (pending << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(pending >>> (bits - 5)) & 31];
    pending &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + ALPHABET[(pending << (5 - bits)) & 31];
}

/** The whole bytes of lower-case base32; characters that are none of its alphabet count as 0. */
export function bytesOfBase32(text: string): Buffer {
  const bytes = Buffer.alloc(Math.floor((text.length * 5) / 8));
  let pending = 0;
  let bits = 0;
  let at = 0;
  for (const character of text) {
    pending = ((pending << 5) | Math.max(0, ALPHABET.indexOf(character))) & 0xff_ff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at++] = (pending >>> bits) & 0xff;
  }
  return bytes;
}
