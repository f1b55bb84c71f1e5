import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { parse, stringify } from 'uuid';

/** Whose mail it is, and where the addresses that its links lead to are kept. */
export interface TrackedMail {
  readonly environmentId: number;
  /** The table of the campaign's link targets. */
  readonly linkSet: number;
  readonly deliveryId: string;
}

/** What a token says: the mail, and which of its places it stands in. */
export interface TrackingClaims extends TrackedMail {
  /** 0 is the open pixel, n the nth address of the link set. */
  readonly place: number;
}

const KEY_ID = 1;
const MAIL_BYTES = 27;
const PLACE_BYTES = 2;
const MAC_BYTES = 13;
/** Places of one mail, the pixel included. */
export const MAX_TRACKED_PLACES = 1_000;
const TOKEN = /^[A-Za-z0-9_-]{56}$/;

/**
 * Signs and checks the tokens of open pixels and tracked links: key id, environment, link set, delivery (27 bytes), the
 * place (2 bytes) and 104 bits of HMAC-SHA-256 of the mail, together 56 characters of base64url.
 *
 * A mail is signed once, not each of its links: who changes the place gets to another link of the same mail, which
 * stands in that mail anyway, or nowhere. Twelve HMACs more would be a tenth of the CPU of a mail.
 */
export class TrackingTokens {
  readonly #key: KeyObject;
  readonly #targetsKey: Buffer;

  constructor(secret: string) {
    this.#key = createSecretKey(createHmac('sha256', secret).update('mailwright.tracking.v1').digest());
    this.#targetsKey = createHmac('sha256', secret).update('mailwright.link-targets.v1').digest();
  }

  /** The tokens of a mail's first `places` places: that of its pixel, then those of its links. */
  sign({ environmentId, linkSet, deliveryId }: TrackedMail, places: number): string[] {
    const bytes = Buffer.alloc(MAIL_BYTES + PLACE_BYTES + MAC_BYTES);
    bytes.writeUInt8(KEY_ID, 0);
    bytes.writeUIntBE(environmentId, 1, 5);
    bytes.writeUIntBE(linkSet, 6, 5);
    bytes.set(parse(deliveryId), 11);
    this.#mac(bytes).copy(bytes, MAIL_BYTES + PLACE_BYTES);
    return Array.from({ length: places }, (_, place) => {
      bytes.writeUInt16BE(place, MAIL_BYTES);
      return bytes.toString('base64url');
    });
  }

  /** What the token says when it is ours; else null. */
  verify(token: string): TrackingClaims | null {
    if (!TOKEN.test(token)) return null;
    const bytes = Buffer.from(token, 'base64url');
    if (!timingSafeEqual(this.#mac(bytes), bytes.subarray(MAIL_BYTES + PLACE_BYTES))) return null;
    const place = bytes.readUInt16BE(MAIL_BYTES);
    if (bytes[0] !== KEY_ID || place >= MAX_TRACKED_PLACES) return null;
    return {
      environmentId: bytes.readUIntBE(1, 5),
      linkSet: bytes.readUIntBE(6, 5),
      deliveryId: stringify(bytes, 11),
      place,
    };
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

  #mac(token: Buffer): Buffer {
    const mail = token.subarray(0, MAIL_BYTES);
    return createHmac('sha256', this.#key).update(mail).digest().subarray(0, MAC_BYTES);
  }
}
