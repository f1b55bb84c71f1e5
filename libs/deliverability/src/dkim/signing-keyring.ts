import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type SigningKey, type SigningKeyMaterial, parseSigningKey } from './signing-key.js';

const KEPT = 1_000;

/** Parses each key once, however often its domain is looked up. */
export class SigningKeyring {
  readonly #parsed = new LRUCache<string, SigningKey>({ max: KEPT });

  /** @throws {BrokenSigningKeyError} */
  keyOf(material: SigningKeyMaterial): SigningKey {
    // By its hash: the text of the key is not kept any longer than its owner keeps it.
    const id = createHash('sha256').update(material.privateKeyPem).digest('base64');
    const name = `${material.algorithm}/${material.selector}/${id}`;
    const known = this.#parsed.get(name);
    if (known !== undefined) return known;
    const key = parseSigningKey(material);
    this.#parsed.set(name, key);
    return key;
  }
}
