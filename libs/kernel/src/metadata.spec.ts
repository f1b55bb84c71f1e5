import { describe, expect, it } from '@jest/globals';
import { DomainValidationError } from './domain-error.js';
import { patchedMetadata } from './metadata.js';

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 'v']));

describe('metadata', () => {
  it('is merged key by key, and null removes a key', () => {
    expect(patchedMetadata({ a: '1', b: '2' }, { b: null, c: '3', nothing: null })).toEqual({
      a: '1',
      c: '3',
    });
    expect(patchedMetadata({ a: '1' })).toEqual({ a: '1' });
  });

  it('has at most 20 keys after the changes, which may bring some and take others away', () => {
    expect(Object.keys(patchedMetadata(many(20), { k0: null, other: 'v' }))).toHaveLength(20);
    expect(() => patchedMetadata(many(20), { other: 'v' })).toThrow(DomainValidationError);
    expect(() => patchedMetadata({}, many(21))).toThrow(DomainValidationError);
  });
});
