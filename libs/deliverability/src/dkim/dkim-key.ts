import { createHash, createPrivateKey, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ProjectScope } from '#kernel';

export const DKIM_ALGORITHMS = ['rsa-sha256', 'ed25519-sha256'] as const;
/** RFC 6376 §3.3, RFC 8463 §3. */
export type DkimAlgorithm = (typeof DKIM_ALGORITHMS)[number];

/** `k=` of the record that publishes a key. */
export function keyTypeOf(algorithm: DkimAlgorithm): 'rsa' | 'ed25519' {
  return algorithm === 'rsa-sha256' ? 'rsa' : 'ed25519';
}

/** The TXT that publishes a key (RFC 6376 §3.6.1); `publicKey` is base64. */
export function dkimRecord(algorithm: DkimAlgorithm, publicKey: string): string {
  return `v=DKIM1; k=${keyTypeOf(algorithm)}; p=${publicKey}`;
}

/** Context that a sealed DKIM key is bound to. */
export function dkimSecret({ projectId, environmentId }: Pick<ProjectScope, 'projectId' | 'environmentId'>) {
  return { purpose: 'dkim-key', owner: { projectId, environmentId } };
}

/** NEXT is published and does not sign yet; RETIRED signs no more. */
export type DkimKeyState = 'NEXT' | 'ACTIVE' | 'RETIRED';

/** A pair that was just made. */
export interface NewDkimKey {
  readonly selector: string;
  readonly algorithm: DkimAlgorithm;
  /** Base64, as it stands in p=. */
  readonly publicKey: string;
  /** The private half, sealed for the project. */
  readonly privateKeyBox: string;
}

/** A pair of keys of a sending domain. */
export class DkimKeyPair implements NewDkimKey {
  readonly id!: number;
  readonly environmentId: number;
  readonly domainId: number;
  readonly selector!: string;
  readonly algorithm!: DkimAlgorithm;
  readonly publicKey!: string;
  readonly privateKeyBox!: string;
  retiredAt: Date | null = null;

  constructor(
    domain: { readonly id: number; readonly environmentId: number },
    made: NewDkimKey,
    public state: DkimKeyState,
    readonly createdAt: Date,
  ) {
    this.environmentId = domain.environmentId;
    this.domainId = domain.id;
    Object.assign(this, made);
  }

  /** One that was to come signs from now on; one that signed does no more. */
  switch(now: Date): void {
    if (this.state === 'ACTIVE') this.retiredAt = now;
    this.state = this.state === 'NEXT' ? 'ACTIVE' : 'RETIRED';
  }
}

/** A key as it is kept: with the name under which its public half stands in the DNS. */
export interface SigningKeyMaterial {
  readonly selector: string;
  readonly algorithm: DkimAlgorithm;
  /** PKCS #8 or PKCS #1, PEM. */
  readonly privateKeyPem: string;
}

/** A key that is ready to sign. */
export interface SigningKey {
  readonly selector: string;
  readonly algorithm: DkimAlgorithm;
  readonly key: KeyObject;
}

/** A key that cannot sign. The message names its selector and nothing of the key. */
export class BrokenSigningKeyError extends Error {
  override readonly name = 'BrokenSigningKeyError';

  constructor(selector: string, fault: string) {
    super(`The DKIM key ${selector} ${fault}.`);
  }
}

/** RFC 8301 §3.2. */
const LEAST_RSA_BITS = 1024;
const SELECTOR = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/i;

/**
 * Parses a key, which takes as long as half a signature: once, not for each mail.
 * @throws {BrokenSigningKeyError} when it cannot be read, is of another kind than it says, or too short
 */
export function parseSigningKey({ selector, algorithm, privateKeyPem }: SigningKeyMaterial): SigningKey {
  if (!SELECTOR.test(selector)) throw new BrokenSigningKeyError('', 'has a selector that is no host name');
  const key = readKey(selector, privateKeyPem);
  if (key.asymmetricKeyType !== keyTypeOf(algorithm))
    throw new BrokenSigningKeyError(selector, `is no key for ${algorithm}`);
  if (algorithm === 'rsa-sha256' && (key.asymmetricKeyDetails?.modulusLength ?? 0) < LEAST_RSA_BITS)
    throw new BrokenSigningKeyError(selector, `has fewer than ${LEAST_RSA_BITS} bits`);
  return { selector, algorithm, key };
}

function readKey(selector: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // OpenSSL's message may quote the key.
    throw new BrokenSigningKeyError(selector, 'cannot be read');
  }
}

const KEPT = 1_000;

/** Parses each key once, however often its domain is looked up. */
export class SigningKeyring {
  readonly #parsed = new LRUCache<string, SigningKey>({ max: KEPT });

  /** @throws {BrokenSigningKeyError} */
  keyOf(material: SigningKeyMaterial): SigningKey {
    // Keyed by hash, so that the text of the key is not kept longer than its owner keeps it.
    const id = createHash('sha256').update(material.privateKeyPem).digest('base64');
    const name = `${material.algorithm}/${material.selector}/${id}`;
    const known = this.#parsed.get(name);
    if (known !== undefined) return known;
    const key = parseSigningKey(material);
    this.#parsed.set(name, key);
    return key;
  }
}
