import { hkdfSync } from 'node:crypto';
import { decrypt, encrypt } from '../../secrets/aes-256-gcm.js';

/** What a repeated request gets again. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Answers are kept for a day and hold personal data that may be erased meanwhile. So they are encrypted with a
 * key that only the client's own idempotency key completes; the table has its hash.
 */
export class AnswerSeal {
  readonly #key: Buffer;

  constructor(masterKey: string, apiKeyId: string, idempotencyKey: string) {
    this.#key = Buffer.from(hkdfSync('sha256', masterKey, apiKeyId, `idempotency:${idempotencyKey}`, 32));
  }

  seal(answer: StoredAnswer): string {
    return encrypt(this.#key, JSON.stringify(answer)).toString('base64');
  }

  open(sealed: string): StoredAnswer {
    return JSON.parse(decrypt(this.#key, Buffer.from(sealed, 'base64'))) as StoredAnswer;
  }
}
