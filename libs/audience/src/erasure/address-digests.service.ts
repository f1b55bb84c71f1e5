import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG } from '#platform';
import { AddressDigest } from './address-digest.js';

/** The keyed digests by which addresses are known that were erased. */
@Injectable()
export class AddressDigests {
  readonly #masterKey: string;

  constructor(@Inject(CONFIG) { MASTER_KEY }: Pick<Config, 'MASTER_KEY'>) {
    this.#masterKey = MASTER_KEY;
  }

  /** Of an `EmailAddress.key`. */
  of({ environmentId }: ProjectScope, emailKey: string): Buffer {
    return new AddressDigest(this.#masterKey, environmentId).of(emailKey);
  }

  /** The same as SQL (bytea), of a text column of address keys, for work on many rows at once. */
  ofColumn({ environmentId }: ProjectScope, emailKey: RawBuilder<unknown>): RawBuilder<Buffer> {
    const { inner, outer } = new AddressDigest(this.#masterKey, environmentId).pads;
    return sql<Buffer>`sha256(${outer}::bytea || sha256(${inner}::bytea || convert_to(${emailKey}, 'UTF8')))`;
  }
}
