import { createPrivateKey, type KeyObject } from 'node:crypto';

/** `rsa-sha256` of RFC 6376, `ed25519-sha256` of RFC 8463. */
export type DkimAlgorithm = 'rsa-sha256' | 'ed25519-sha256';

/** A key as it is kept: with the name under which its public half stands in the DNS. */
export interface DkimKeyMaterial {
  readonly selector: string;
  readonly algorithm: DkimAlgorithm;
  /** PKCS #8 or PKCS #1, PEM. */
  readonly privateKeyPem: string;
}

/** A key that is ready to sign. */
export interface DkimKey {
  readonly selector: string;
  readonly algorithm: DkimAlgorithm;
  readonly key: KeyObject;
}

/** A key that cannot sign. The message names its selector and nothing of the key. */
export class BrokenDkimKeyError extends Error {
  override readonly name = 'BrokenDkimKeyError';

  constructor(selector: string, fault: string) {
    super(`The DKIM key ${selector} ${fault}.`);
  }
}

/** RFC 8301 §3.2. */
const LEAST_RSA_BITS = 1024;
const KEY_TYPES: Readonly<Record<DkimAlgorithm, string>> = {
  'rsa-sha256': 'rsa',
  'ed25519-sha256': 'ed25519',
};
const SELECTOR = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/i;

/**
 * Parses a key, which takes as long as half a signature: once, not for each mail.
 * @throws {BrokenDkimKeyError} when it cannot be read, is of another kind than it says, or too short
 */
export function parseDkimKey({ selector, algorithm, privateKeyPem }: DkimKeyMaterial): DkimKey {
  if (!SELECTOR.test(selector)) throw new BrokenDkimKeyError('', 'has a selector that is no host name');
  const key = readKey(selector, privateKeyPem);
  if (key.asymmetricKeyType !== KEY_TYPES[algorithm])
    throw new BrokenDkimKeyError(selector, `is no key for ${algorithm}`);
  if (algorithm === 'rsa-sha256' && (key.asymmetricKeyDetails?.modulusLength ?? 0) < LEAST_RSA_BITS)
    throw new BrokenDkimKeyError(selector, `has fewer than ${LEAST_RSA_BITS} bits`);
  return { selector, algorithm, key };
}

function readKey(selector: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // What OpenSSL says of it may quote the key.
    throw new BrokenDkimKeyError(selector, 'cannot be read');
  }
}
