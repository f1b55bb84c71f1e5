import { createHmac, hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const HASH_BYTES = 32;
/** What a token says, and more. */
const ROOM_BYTES = 256;

/**
 * HMAC-SHA-256 of short messages by two plain hashes (RFC 2104 §2). Node's `Hmac` is an object that has to be made and collected
 * for each: 2.6 µs instead of 1.2, four times a mail (bench/history/campaign.md).
 */
export class Mac {
  readonly #inner = Buffer.alloc(BLOCK_BYTES + ROOM_BYTES, 0x36);
  readonly #outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES, 0x5c);

  /** With a key for this purpose alone. */
  constructor(secret: string, purpose: string) {
    const key = createHmac('sha256', secret).update(purpose).digest();
    for (const [place, octet] of key.entries()) {
      this.#inner[place] = octet ^ 0x36;
      this.#outer[place] = octet ^ 0x5c;
    }
  }

  /** The first octets of it, so many. `message`: at most 256. */
  of(message: Buffer, octets: number): Buffer {
    const end = BLOCK_BYTES + message.length;
    this.#inner.set(message, BLOCK_BYTES);
    this.#outer.write(hash('sha256', this.#inner.subarray(0, end), 'binary'), BLOCK_BYTES, 'latin1');
    return Buffer.from(hash('sha256', this.#outer, 'binary').slice(0, octets), 'latin1');
  }
}
