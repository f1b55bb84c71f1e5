import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** What a repeated request gets again. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Answers are kept for a day and hold personal data that may be erased meanwhile. So they are encrypted
 * (AES-256-GCM) with a key that only the client's own idempotency key completes; the table has its hash.
 */
export class AnswerSeal {
  readonly #key: Buffer;

  constructor(masterKey: string, apiKeyId: string, idempotencyKey: string) {
    this.#key = Buffer.from(hkdfSync('sha256', masterKey, apiKeyId, `idempotency:${idempotencyKey}`, 32));
  }

  seal(answer: StoredAnswer): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    const text = Buffer.concat([cipher.update(JSON.stringify(answer), 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64');
  }

  open(sealed: string): StoredAnswer {
    const bytes = Buffer.from(sealed, 'base64');
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
    return JSON.parse(text.toString('utf8')) as StoredAnswer;
  }
}
