import { describe, expect, it } from '@jest/globals';
import { newId } from '#kernel';
import * as fc from '#testing/random/properties';
import { base32, bytesOfBase32, ReturnPaths, UnsubscribeAddresses } from './return-path.js';

const HOST = 'bounces.shop.example';
const paths = new ReturnPaths('a secret of the tests, long enough for it');
const mail = { environmentId: 7, deliveryId: newId() };
const mails = fc.record({ environmentId: fc.integer({ min: 1, max: 2 ** 40 - 1 }), deliveryId: fc.uuid() });

describe('return paths', () => {
  it('say whose mail came back, in whatever case a server on the way writes them', () => {
    fc.assert(
      fc.property(mails, fc.infiniteStream(fc.boolean()), (claims, upper) => {
        const address = paths.addressOf(claims, HOST);
        const mixed = address.replaceAll(/[a-z]/g, (c) => (upper.next().value ? c.toUpperCase() : c));
        expect(paths.read(address)).toEqual(claims);
        expect(paths.read(mixed)).toEqual(claims);
      }),
    );
  });

  it('fit into the 64 octets of a local part', () => {
    fc.assert(
      fc.property(mails, (claims) => {
        const [local = '', host] = paths.addressOf(claims, HOST).split('@');
        expect(local).toMatch(/^b\+[a-z2-7]+\.[a-z2-7]+$/);
        expect([local.length, host]).toEqual([60, HOST]);
      }),
    );
  });

  it('are refused when any one character is another', () => {
    const address = paths.addressOf(mail, HOST);
    const anyCharacter = fc.constantFrom(...Array.from('abcxyz2345670189.+-_=@ é'));
    fc.assert(
      fc.property(fc.nat(59), anyCharacter, (at, other) => {
        fc.pre(address[at] !== other);
        expect(paths.read(address.slice(0, at) + other + address.slice(at + 1))).toBeNull();
      }),
      { numRuns: fc.runs(2_000) },
    );
  });

  it('are no unsubscribe addresses, nor the other way round', () => {
    const unsubscribes = new UnsubscribeAddresses('a secret of the tests, long enough for it');
    const [path, unsubscribe] = [paths.addressOf(mail, HOST), unsubscribes.addressOf(mail, HOST)];
    expect(unsubscribes.read(unsubscribe)).toEqual(mail);
    for (const address of [path, path.replace(/^b/, 'u')]) expect(unsubscribes.read(address)).toBeNull();
    for (const address of [unsubscribe, unsubscribe.replace(/^u/, 'b')])
      expect(paths.read(address)).toBeNull();
  });

  it('of another secret are refused', () => {
    const forged = new ReturnPaths('another secret of the tests, long enough').addressOf(mail, HOST);
    expect(paths.read(forged)).toBeNull();
  });

  it('do not take the MAC of one mail for another', () => {
    const one = paths.addressOf(mail, HOST);
    const other = paths.addressOf({ ...mail, deliveryId: newId() }, HOST);
    expect(paths.read(one.slice(0, 39) + other.slice(39))).toBeNull();
  });

  it.each([
    '',
    '@',
    'b+@x',
    'postmaster@x',
    `b+${'a'.repeat(36)}.${'a'.repeat(21)}@x`,
    `b+${'='.repeat(58)}`,
  ])('refuse %j', (address) => {
    expect(paths.read(address)).toBeNull();
  });

  it('refuse any text without complaint', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.codePoint, maxLength: 200 }), (text) => {
        expect(paths.read(text)).toBeNull();
      }),
    );
  });
});

describe('base32', () => {
  it('gives the bytes back that it was given', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect([...bytesOfBase32(base32(bytes))]).toEqual([...bytes]);
      }),
    );
  });

  it('writes the test vectors of RFC 4648 §10', () => {
    const written = ['f', 'fo', 'foo', 'foob', 'fooba', 'foobar'].map((text) => base32(Buffer.from(text)));
    expect(written).toEqual(['my', 'mzxq', 'mzxw6', 'mzxw6yq', 'mzxw6ytb', 'mzxw6ytboi']);
  });
});
