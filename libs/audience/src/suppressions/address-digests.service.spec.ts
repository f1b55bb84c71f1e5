import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { AddressDigest } from './address-digests.service.js';

describe('the digest of an address', () => {
  const digest = new AddressDigest('a master key', 7);

  it('is the same for the same address, and another for another environment or master key', () => {
    const ada = digest.of('ada@example.com');
    expect(new AddressDigest('a master key', 7).of('ada@example.com')).toEqual(ada);
    expect(ada).toHaveLength(32);
    for (const other of [new AddressDigest('a master key', 8), new AddressDigest('another key', 7)])
      expect(other.of('ada@example.com')).not.toEqual(ada);
    expect(digest.of('ada@example.org')).not.toEqual(ada);
  });

  it('tells nothing without the master key: a plain hash does not find it', () => {
    const key = 'ada@example.com';
    for (const guess of ['', '7', 'a master key'])
      expect(createHmac('sha256', guess).update(key).digest()).not.toEqual(digest.of(key));
  });

  it('is what a database makes of the pads (RFC 2104)', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        const sha256 = (...parts: readonly Buffer[]) =>
          createHash('sha256').update(Buffer.concat(parts)).digest();
        const { inner, outer } = digest.pads;
        expect(sha256(outer, sha256(inner, Buffer.from(text)))).toEqual(digest.of(text));
      }),
    );
  });
});
