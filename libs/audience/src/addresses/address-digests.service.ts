import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG } from '#platform';
import { AddressDigest } from './address-digest.js';

/** Keyed digests, which recognise erased addresses. */
@Injectable()
export class AddressDigests {
  readonly #key: string;

  constructor(@Inject(CONFIG) { ERASED_ADDRESS_KEY }: Pick<Config, 'ERASED_ADDRESS_KEY'>) {
    this.#key = ERASED_ADDRESS_KEY;
  }

  /** The digest of an `EmailAddress.key`. */
  of({ environmentId }: ProjectScope, emailKey: string): Buffer {
    return new AddressDigest(this.#key, environmentId).of(emailKey);
  }

  /** The digest as SQL (bytea) of a text column of address keys, for sets of rows. */
  ofColumn({ environmentId }: ProjectScope, emailKey: RawBuilder<unknown>): RawBuilder<Buffer> {
    const { inner, outer } = new AddressDigest(this.#key, environmentId).pads;
    return sql<Buffer>`sha256(${outer}::bytea || sha256(${inner}::bytea || audience.utf8(${emailKey})))`;
  }
}
