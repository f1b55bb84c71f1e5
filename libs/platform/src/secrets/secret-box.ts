import { createCipheriv, createDecipheriv, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import type { ProjectScope } from '#kernel';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Nonce, tag and ciphertext in one (NIST SP 800-38D). `key` has 32 bytes; `bound` must be the same to decrypt. */
export function encrypt(key: Buffer | KeyObject, secret: string | Buffer, bound = ''): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(bound));
  const octets = typeof secret === 'string' ? Buffer.from(secret) : secret;
  const encrypted = [cipher.update(octets), cipher.final()];
  return Buffer.concat([nonce, cipher.getAuthTag(), ...encrypted]);
}

/** The octets that `encrypt` was given. Throws when key, `bound` or any bit differs. */
export function decryptOctets(key: Buffer | KeyObject, sealed: Buffer, bound = ''): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(bound)).setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
}

/** The same as text. */
export const decrypt = (key: Buffer | KeyObject, sealed: Buffer, bound = ''): string =>
  decryptOctets(key, sealed, bound).toString('utf8');

/** Purpose and owner of a secret: one that was sealed for others does not open. */
export interface SecretContext {
  /** E.g. `dkim-key`. */
  readonly purpose: string;
  readonly owner: Pick<ProjectScope, 'projectId' | 'environmentId'>;
}

/** The secret is damaged, another's, or was sealed with a master key that this process does not have. */
export class UnreadableSecretError extends Error {}

interface DerivedKey {
  readonly id: string;
  readonly key: Buffer;
}

const BOX = /^v1\.(?<keyId>[0-9a-f]{8})\.(?<sealed>[A-Za-z0-9_-]+)$/;

/** Seals secrets for the database (AES-256-GCM). A box begins with the id of its master key: two are in use during a change. */
export class SecretBox {
  readonly #current: DerivedKey;
  readonly #previous: DerivedKey | null;

  /** `previousKey` opens, and never seals. */
  constructor(masterKey: string, previousKey?: string) {
    this.#current = derive(masterKey);
    this.#previous = previousKey === undefined ? null : derive(previousKey);
  }

  /** Beginning of all boxes that are sealed from now on. */
  get currentPrefix(): string {
    return `v1.${this.#current.id}.`;
  }

  seal(secret: string, context: SecretContext): string {
    return this.currentPrefix + encrypt(this.#current.key, secret, bindingOf(context)).toString('base64url');
  }

  /** Throws `UnreadableSecretError`. */
  open(box: string, context: SecretContext): string {
    const { keyId, sealed } = BOX.exec(box)?.groups ?? {};
    if (keyId === undefined || sealed === undefined)
      throw new UnreadableSecretError('This is not a sealed secret.');
    const key = [this.#current, this.#previous].find((known) => known?.id === keyId);
    if (key === undefined || key === null) {
      throw new UnreadableSecretError(`The secret was sealed with another MASTER_KEY (its id is ${keyId}).`);
    }
    try {
      return decrypt(key.key, Buffer.from(sealed, 'base64url'), bindingOf(context));
    } catch {
      throw new UnreadableSecretError('The secret is damaged, or was sealed for another use or project.');
    }
  }
}

/** RFC 5869 for a key that serves this alone; the id is derived too and tells nothing of the master key. */
function derive(masterKey: string): DerivedKey {
  const part = (info: string, bytes: number) => Buffer.from(hkdfSync('sha256', masterKey, '', info, bytes));
  return { id: part('mailwright.secrets.v1.id', 4).toString('hex'), key: part('mailwright.secrets.v1', 32) };
}

function bindingOf({ purpose, owner }: SecretContext): string {
  return JSON.stringify([purpose, owner.projectId, owner.environmentId]);
}
