import { createHmac, hash, timingSafeEqual } from 'node:crypto';

/** A mail with tracked places. */
export interface TrackedMail {
  readonly environmentId: number;
  /** The table of the campaign's link targets. */
  readonly linkSet: number;
  readonly deliveryId: string;
}

/** Content of a token: the mail, and the place in it. */
export interface TrackingClaims extends TrackedMail {
  /** 0 is the open pixel, n the nth address of the link set. */
  readonly place: number;
}

const KEY_ID = 1;
const HEAD_BYTES = 27;
/** Offset of a delivery's id among the bytes of a token. */
export const DELIVERY_ID_BEGIN = 11;
const PLACE_BYTES = 2;
const MAC_BYTES = 13;
/** Places of one mail, the pixel included; bounds what checking a forged token costs, too. */
export const MAX_TRACKED_PLACES = 1_000;
const TOKEN = /^[A-Za-z0-9_-]{56}$/;
/** Length of the claims in bytes, which many are kept in side by side. */
export const CLAIMS_BYTES = HEAD_BYTES + PLACE_BYTES;

/**
 * Signs and checks the tokens of open pixels and tracked links: key id, environment, link set, delivery (27 bytes, the same in
 * all of a mail), the place (2 bytes) and 104 bits of a MAC that covers all of these, together 56 characters of base64url.
 *
 * A mail is signed once: SHAKE128 over key and mail gives a stream of which each place has its own 13 bytes. A sponge with its
 * key in front is a MAC without an HMAC's two passes (FIPS 202; KMAC of NIST SP 800-185 §4 rests on the same).
 */
export class TrackingTokens {
  /** The key, and behind it room for the head of one token. */
  readonly #message: Buffer;
  readonly #head: Buffer;
  readonly #token = Buffer.alloc(CLAIMS_BYTES + MAC_BYTES);
  readonly #claims = this.#token.subarray(0, CLAIMS_BYTES);
  readonly #mac = this.#token.subarray(CLAIMS_BYTES);
  readonly #expected = Buffer.alloc(MAC_BYTES);
  readonly #targetsKey: Buffer;

  constructor(secret: string) {
    const key = createHmac('sha256', secret).update('mailwright.tracking.v1').digest();
    this.#message = Buffer.concat([key, Buffer.alloc(HEAD_BYTES)]);
    this.#head = this.#message.subarray(key.length);
    this.#targetsKey = createHmac('sha256', secret).update('mailwright.link-targets.v1').digest();
  }

  /** The tokens of a mail's first `places` places: that of its pixel, then those of its links. */
  sign(mail: TrackedMail, places: number): string[] {
    const head = headOf(mail);
    const stream = this.#stream(head, places);
    const begin = head.toString('base64url');
    const tail = Buffer.allocUnsafe(PLACE_BYTES + MAC_BYTES);
    return Array.from({ length: places }, (_, place) => {
      tail.writeUInt16BE(place, 0);
      tail.write(stream.slice(place * MAC_BYTES, (place + 1) * MAC_BYTES), PLACE_BYTES, 'latin1');
      return begin + tail.toString('base64url');
    });
  }

  /** Claims of a token that is ours; else null. */
  verify(token: string): TrackingClaims | null {
    const claims = this.verifyBytes(token);
    return claims === null ? null : trackingClaimsOf(claims);
  }

  /** The same in bytes, which the next call overwrites: a new buffer would cost more than the check. */
  verifyBytes(token: string): Buffer | null {
    if (!TOKEN.test(token)) return null;
    this.#token.write(token, 'base64url');
    const place = placeOf(this.#claims);
    if (place >= MAX_TRACKED_PLACES) return null;
    const stream = this.#stream(this.#claims, place + 1);
    this.#expected.write(stream.slice(place * MAC_BYTES), 'latin1');
    if (!timingSafeEqual(this.#expected, this.#mac)) return null;
    return this.#claims[0] === KEY_ID ? this.#claims : null;
  }

  /** Signs the addresses that a link set leads to, with whose it is. */
  signTargets(owner: string, targets: readonly string[]): Buffer {
    return createHmac('sha256', this.#targetsKey)
      .update(JSON.stringify([owner, ...targets]))
      .digest();
  }

  verifyTargets(owner: string, targets: readonly string[], signature: Buffer): boolean {
    const expected = this.signTargets(owner, targets);
    return signature.length === expected.length && timingSafeEqual(expected, signature);
  }

  /** A character is a byte. */
  #stream(head: Buffer, places: number): string {
    head.copy(this.#head, 0, 0, HEAD_BYTES);
    return hash('shake128', this.#message, {
      outputLength: places * MAC_BYTES,
      outputEncoding: 'binary',
    });
  }
}

/** The claims in bytes that were verified. */
export function trackingClaimsOf(claims: Buffer): TrackingClaims {
  return {
    environmentId: environmentIdOf(claims),
    linkSet: linkSetOf(claims),
    deliveryId: uuidOf(claims.toString('hex', DELIVERY_ID_BEGIN, HEAD_BYTES)),
    place: placeOf(claims),
  };
}

/** The environment alone. */
export function environmentIdOf(claims: Buffer): number {
  return claims.readUIntBE(1, 5);
}

/** The link set alone, of claims that begin there. */
export function linkSetOf(claims: Buffer, begin = 0): number {
  return claims.readUIntBE(begin + 6, 5);
}

/** The place alone, of claims that begin there. */
export function placeOf(claims: Buffer, begin = 0): number {
  return claims.readUInt16BE(begin + HEAD_BYTES);
}

function uuidOf(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function headOf({ environmentId, linkSet, deliveryId }: TrackedMail): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(KEY_ID, 0);
  head.writeUIntBE(environmentId, 1, 5);
  head.writeUIntBE(linkSet, 6, 5);
  head.write(deliveryId.replaceAll('-', ''), DELIVERY_ID_BEGIN, 'hex');
  return head;
}
