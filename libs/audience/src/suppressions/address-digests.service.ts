import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG } from '#platform';

/** The block of SHA-256, to which HMAC pads its key (RFC 2104 §2). */
const BLOCK_BYTES = 64;
const KEY_BYTES = 32;

/**
 * Digests of addresses for one environment: HMAC-SHA-256 with a key derived from the master key and the environment. Without the
 * master key nobody can find the address of a digest, not even by guessing.
 */
export class AddressDigest {
  /** A KeyObject, with which an HMAC takes a fifth of the time that it takes with bytes. */
  readonly #key: KeyObject;

  constructor(masterKey: string, environmentId: number) {
    const purpose = `mailwright.erased-address.v1/${environmentId}`;
    this.#key = createSecretKey(Buffer.from(hkdfSync('sha256', masterKey, '', purpose, KEY_BYTES)));
  }

  /** The digest of an `EmailAddress.key`. */
  of(emailKey: string): Buffer {
    return createHmac('sha256', this.#key).update(emailKey, 'utf8').digest();
  }

  /** The padded keys of HMAC's two hashes (RFC 2104 §2), for a database that has only the hash. */
  get pads(): { readonly inner: Buffer; readonly outer: Buffer } {
    const padded = Buffer.alloc(BLOCK_BYTES);
    this.#key.export().copy(padded);
    const pad = (mask: number) => Buffer.from(padded.map((byte) => byte ^ mask));
    return { inner: pad(0x36), outer: pad(0x5c) };
  }
}

/** Keyed digests, which recognise erased addresses. */
@Injectable()
export class AddressDigestsService {
  readonly #key: string;
  /** Keys by environment. */
  readonly #digests = new LRUCache<number, AddressDigest>({ max: 1_000 });

  constructor(@Inject(CONFIG) { ERASED_ADDRESS_KEY }: Pick<Config, 'ERASED_ADDRESS_KEY'>) {
    this.#key = ERASED_ADDRESS_KEY;
  }

  /** The digest of an `EmailAddress.key`. */
  of({ environmentId }: ProjectScope, emailKey: string): Buffer {
    return this.#digest(environmentId).of(emailKey);
  }

  /** The digest as SQL (bytea) of a text column of address keys, for sets of rows. */
  ofColumn({ environmentId }: ProjectScope, emailKey: RawBuilder<unknown>): RawBuilder<Buffer> {
    const { inner, outer } = this.#digest(environmentId).pads;
    return sql<Buffer>`sha256(${outer}::bytea || sha256(${inner}::bytea || audience.utf8(${emailKey})))`;
  }

  #digest(environmentId: number): AddressDigest {
    const known = this.#digests.get(environmentId);
    if (known !== undefined) return known;
    const digest = new AddressDigest(this.#key, environmentId);
    this.#digests.set(environmentId, digest);
    return digest;
  }
}
