import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { base32, bytesOfBase32 } from './base32.js';

/** Whose mail a return path belongs to. */
export interface ReturnPathClaims {
  readonly environmentId: number;
  readonly deliveryId: string;
}

const KEY_ID = 1;
const CLAIMS_BYTES = 22;
const MAC_BYTES = 13;
/** 36 characters of claims, 21 of the MAC. */
const ADDRESS = /^b\+([A-Z2-7]{36})\.([A-Z2-7]{21})@[^@]+$/i;

/**
 * Makes and reads the return paths of mails (VERP): `b+<claims>.<mac>@<return-path host>`. The claims are key id,
 * environment and delivery (22 bytes), the MAC is 104 bits of HMAC-SHA-256 over them, both in base32, since servers on
 * the way may change the case. Together 60 of the 64 octets that RFC 5321 §4.5.3.1.1 allows. Nothing is looked up before
 * the MAC holds.
 */
export class ReturnPaths {
  readonly #key: KeyObject;

  constructor(secret: string) {
    this.#key = createSecretKey(createHmac('sha256', secret).update('mailwright.return-paths.v1').digest());
  }

  /** The envelope sender of a mail. */
  addressOf({ environmentId, deliveryId }: ReturnPathClaims, host: string): string {
    const claims = Buffer.alloc(CLAIMS_BYTES);
    claims.writeUInt8(KEY_ID, 0);
    claims.writeUIntBE(environmentId, 1, 5);
    claims.write(deliveryId.replaceAll('-', ''), 6, 'hex');
    return `b+${base32(claims)}.${this.#macOf(claims)}@${host}`;
  }

  /** Whose mail came back to this address, in whatever case; null when the address is none of ours. The host may be any. */
  read(address: string): ReturnPathClaims | null {
    const match = ADDRESS.exec(address);
    if (match === null) return null;
    const [encoded = '', mac = ''] = match.slice(1).map((part) => part.toLowerCase());
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

function uuidOf(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
