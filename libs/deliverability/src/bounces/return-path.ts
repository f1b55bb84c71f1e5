import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';

/** The mail that an address belongs to. */
export interface ReturnPathClaims {
  readonly environmentId: number;
  readonly deliveryId: string;
}

const KEY_ID = 1;
const CLAIMS_BYTES = 22;
const MAC_BYTES = 13;
/** Before the `@`: a letter, 36 characters of claims, 21 of the MAC. */
const TOKEN = /^([a-z])\+([a-z2-7]{36})\.([a-z2-7]{21})$/i;

/**
 * Makes and reads addresses of which each belongs to one mail: `<letter>+<claims>.<mac>@<return-path host>`. The claims are
 * key id, environment and delivery (22 bytes), the MAC is 104 bits of HMAC-SHA-256 over them, both in base32, since servers
 * on the way may change the case. Together 60 of the 64 octets that RFC 5321 §4.5.3.1.1 allows. Nothing is looked up before
 * the MAC holds. Each kind of address has a letter and a key of its own.
 */
abstract class SealedAddresses {
  readonly #key: KeyObject;

  constructor(
    secret: string,
    private readonly letter: string,
    purpose: string,
  ) {
    this.#key = createSecretKey(createHmac('sha256', secret).update(purpose).digest());
  }

  /** The address of a mail. */
  addressOf(claims: ReturnPathClaims, host: string): string {
    return `${this.tokenOf(claims)}@${host}`;
  }

  /** The local part of its address, which identifies the mail. */
  tokenOf({ environmentId, deliveryId }: ReturnPathClaims): string {
    const claims = Buffer.alloc(CLAIMS_BYTES);
    claims.writeUInt8(KEY_ID, 0);
    claims.writeUIntBE(environmentId, 1, 5);
    claims.write(deliveryId.replaceAll('-', ''), 6, 'hex');
    return `${this.letter}+${base32(claims)}.${this.#macOf(claims)}`;
  }

  /** Reads an address in any case, at any host; null if it is not ours. */
  read(address: string): ReturnPathClaims | null {
    const [, token] = /^([^@]+)@[^@]+$/.exec(address) ?? [];
    return token === undefined ? null : this.readToken(token);
  }

  /** The same of the local part alone. */
  readToken(token: string): ReturnPathClaims | null {
    const match = TOKEN.exec(token);
    if (match === null) return null;
    const [letter, encoded = '', mac = ''] = match.slice(1).map((part) => part.toLowerCase());
    if (letter !== this.letter) return null;
    const claims = bytesOfBase32(encoded);
    // The last character has spare bits: one address has one spelling.
    if (base32(claims) !== encoded) return null;
    if (!timingSafeEqual(Buffer.from(this.#macOf(claims)), Buffer.from(mac))) return null;
    if (claims.readUInt8(0) !== KEY_ID) return null;
    return { environmentId: claims.readUIntBE(1, 5), deliveryId: uuidOf(claims.toString('hex', 6)) };
  }

  #macOf(claims: Buffer): string {
    return base32(createHmac('sha256', this.#key).update(claims).digest().subarray(0, MAC_BYTES));
  }
}

/** The envelope senders of mails (VERP), `b+…`: what could not be delivered comes back to them. */
export class ReturnPaths extends SealedAddresses {
  constructor(secret: string) {
    super(secret, 'b', 'mailwright.return-paths.v1');
  }
}

/** Addresses in List-Unsubscribe (RFC 2369 §3.2), `u+…`: a mail to one of them takes the reader off the mail's topics. */
export class UnsubscribeAddresses extends SealedAddresses {
  constructor(secret: string) {
    super(secret, 'u', 'mailwright.unsubscribe-addresses.v1');
  }
}

function uuidOf(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

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
