import { createHash } from 'node:crypto';
import { type SigningKey, type SigningKeyMaterial, parseSigningKey } from './signing-key.js';

const KEPT = 1_000;

/** Parses each key once, however often its domain is looked up. */
export class SigningKeyring {
  readonly #parsed = new Map<string, SigningKey>();

  /** @throws {BrokenSigningKeyError} */
  keyOf(material: SigningKeyMaterial): SigningKey {
    // By its hash: the text of the key is not kept any longer than its owner keeps it.
    const id = createHash('sha256').update(material.privateKeyPem).digest('base64');
    const name = `${material.algorithm}/${material.selector}/${id}`;
    const known = this.#parsed.get(name);
    if (known !== undefined) return known;
    const key = parseSigningKey(material);
    for (const oldest of [...this.#parsed.keys()].slice(0, this.#parsed.size + 1 - KEPT))
      this.#parsed.delete(oldest);
    this.#parsed.set(name, key);
    return key;
  }
}
