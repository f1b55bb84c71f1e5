import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { decrypt, encrypt } from '../secrets/aes-256-gcm.js';

/** The mail that a seal is of. */
export interface SealedMail {
  readonly deliveryId: string;
  readonly subscriberId: string;
}

/**
 * Seals what a mail showed for the link to it on the web (AES-256-GCM), in base64url. The key is of the mail and its reader:
 * logs of links tell nothing, and on another mail's link it does not open.
 */
export class MailSeals {
  readonly #key: KeyObject;

  constructor(secret: string) {
    this.#key = createSecretKey(createHmac('sha256', secret).update('mailwright.shown.v1').digest());
  }

  seal(mail: SealedMail, text: string): string {
    return encrypt(this.#keyOf(mail), text).toString('base64url');
  }

  /** Null when it is of another mail or reader, or damaged. */
  open(mail: SealedMail, sealed: string): string | null {
    try {
      return decrypt(this.#keyOf(mail), Buffer.from(sealed, 'base64url'));
    } catch {
      return null;
    }
  }

  #keyOf({ deliveryId, subscriberId }: SealedMail): Buffer {
    return createHmac('sha256', this.#key).update(`${deliveryId}/${subscriberId}`).digest();
  }
}
