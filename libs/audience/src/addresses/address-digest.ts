import { createHmac, hkdfSync } from 'node:crypto';

/** The block of SHA-256, to which HMAC pads its key (RFC 2104 §2). */
const BLOCK_BYTES = 64;
const KEY_BYTES = 32;

/**
 * Digests of addresses for one environment: HMAC-SHA-256 with a key derived from the master key and the environment.
 * Without the master key nobody can find the address of a digest, not even by guessing.
 */
export class AddressDigest {
  readonly #key: Buffer;

  constructor(masterKey: string, environmentId: number) {
    const purpose = `mailwright.erased-address.v1/${environmentId}`;
    this.#key = Buffer.from(hkdfSync('sha256', masterKey, '', purpose, KEY_BYTES));
  }

  /** The digest of an `EmailAddress.key`. */
  of(emailKey: string): Buffer {
    return createHmac('sha256', this.#key).update(emailKey, 'utf8').digest();
  }

  /** The padded keys of HMAC's two hashes (RFC 2104 §2), for a database that has only the hash. */
  get pads(): { readonly inner: Buffer; readonly outer: Buffer } {
    const padded = Buffer.alloc(BLOCK_BYTES);
    this.#key.copy(padded);
    const pad = (mask: number) => Buffer.from(padded.map((byte) => byte ^ mask));
    return { inner: pad(0x36), outer: pad(0x5c) };
  }
}
