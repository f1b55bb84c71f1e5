import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { decrypt, encrypt } from '../secrets/aes-256-gcm.js';

/** The mail that a seal is of. */
export interface SealedMail {
  readonly environmentId: number;
  readonly deliveryId: string;
  readonly subscriberId: string;
}

/**
 * Seals what a mail showed for the link to it on the web, in base64url: AES-256-GCM with a key of the environment, bound to the
 * mail and its reader. Logs of links tell nothing, and on another mail's link it does not open.
 */
export class MailSeals {
  readonly #root: KeyObject;
  /** As objects: with a key that has to be parsed each seal takes three times as long. */
  readonly #keys = new LRUCache<number, KeyObject>({
    max: 1_000,
    memoMethod: (environmentId) =>
      createSecretKey(createHmac('sha256', this.#root).update(String(environmentId)).digest()),
  });

  constructor(secret: string) {
    this.#root = createSecretKey(createHmac('sha256', secret).update('mailwright.shown.v1').digest());
  }

  seal(mail: SealedMail, text: string): string {
    return encrypt(this.#keys.memo(mail.environmentId), text, bindingOf(mail)).toString('base64url');
  }

  /** Null when it is of another mail or reader, or damaged. */
  open(mail: SealedMail, sealed: string): string | null {
    try {
      const key = this.#keys.memo(mail.environmentId);
      return decrypt(key, Buffer.from(sealed, 'base64url'), bindingOf(mail));
    } catch {
      return null;
    }
  }
}

const bindingOf = ({ deliveryId, subscriberId }: SealedMail): string => `${deliveryId}/${subscriberId}`;
