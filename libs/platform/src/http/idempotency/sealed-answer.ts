import { hkdfSync } from 'node:crypto';
import type { Config } from '../../config/config.js';
import { decrypt, encrypt } from '../../secrets/aes-256-gcm.js';

/** What a repeated request gets again. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type MasterKeys = Pick<Config, 'MASTER_KEY' | 'MASTER_KEY_PREVIOUS'>;

/**
 * Answers are kept for a day and hold personal data that may be erased meanwhile. So they are encrypted with a
 * key that only the client's own idempotency key completes; the table has its hash.
 * One from before a change of the master key opens as long as the previous one is configured.
 */
export class AnswerSeal {
  readonly #key: Buffer;
  readonly #previousKey: Buffer | null;

  constructor({ MASTER_KEY, MASTER_KEY_PREVIOUS }: MasterKeys, apiKeyId: string, idempotencyKey: string) {
    const derive = (masterKey: string) =>
      Buffer.from(hkdfSync('sha256', masterKey, apiKeyId, `idempotency:${idempotencyKey}`, 32));
    this.#key = derive(MASTER_KEY);
    this.#previousKey = MASTER_KEY_PREVIOUS === undefined ? null : derive(MASTER_KEY_PREVIOUS);
  }

  seal(answer: StoredAnswer): string {
    return encrypt(this.#key, JSON.stringify(answer)).toString('base64');
  }

  open(sealed: string): StoredAnswer {
    return JSON.parse(this.#decrypt(Buffer.from(sealed, 'base64'))) as StoredAnswer;
  }

  #decrypt(sealed: Buffer): string {
    try {
      return decrypt(this.#key, sealed);
    } catch (error) {
      if (this.#previousKey === null) throw error;
      return decrypt(this.#previousKey, sealed);
    }
  }
}
