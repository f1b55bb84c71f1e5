import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { type LinkClaims, type LinkKind, LinkTokens, MailSeals } from './link-tokens.js';
import { TrackingTokens } from './tracking-tokens.js';

const SECRET = 'a secret of the tests, long enough for it';
const KINDS: readonly LinkKind[] = ['confirm', 'unsubscribe', 'preferences', 'view', 'invoice'];
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const tokens = new LinkTokens(SECRET);
const claimsOf: fc.Arbitrary<LinkClaims> = fc.record(
  {
    kind: fc.constantFrom(...KINDS),
    environmentId: fc.integer({ min: 1, max: 2 ** 40 - 1 }),
    id: fc.uuid(),
    expiresAt: fc.option(
      fc.integer({ min: 1, max: 2 ** 32 - 1 }).map((minutes) => new Date(minutes * 60_000)),
    ),
    mail: fc.record({ subscriberId: fc.uuid(), aboutId: fc.uuid() }),
  },
  { requiredKeys: ['kind', 'environmentId', 'id', 'expiresAt'] },
);

describe('a link’s token', () => {
  it('says what was signed', () => {
    fc.assert(
      fc.property(claimsOf, (claims) => {
        expect(tokens.verify(tokens.sign(claims), claims.kind)).toEqual(claims);
      }),
    );
  });

  it('is refused when any one bit of it is another', () => {
    fc.assert(
      fc.property(claimsOf, (claims) => {
        const good = Buffer.from(tokens.sign(claims), 'base64url');
        const opened: string[] = [];
        for (let bit = 0; bit < good.length * 8; bit += 1) {
          const forged = Buffer.from(good);
          forged.writeUInt8(forged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
          for (const kind of KINDS)
            if (tokens.verify(forged.toString('base64url'), kind) !== null) opened.push(`${kind} ${bit}`);
        }
        expect(opened).toEqual([]);
      }),
      { numRuns: fc.runs(5) },
    );
  });

  it('has one spelling: each other character in any place is refused, also in the spare bits of the last', () => {
    const claims = {
      kind: 'view',
      environmentId: 7,
      id: '019aa3b5-0000-7000-8000-000000000000',
      expiresAt: null,
    };
    const good = tokens.sign(claims as LinkClaims);
    const others = good.split('').flatMap((character, at) =>
      ALPHABET.replace(character, '')
        .split('')
        .map((other) => good.slice(0, at) + other + good.slice(at + 1)),
    );
    expect(others.filter((other) => tokens.verify(other, 'view') !== null)).toEqual([]);
    for (const wrong of [
      `${good}=`,
      `${good}A`,
      good.slice(1),
      ` ${good}`,
      `${good}\n`,
      good.replaceAll(/./g, '%41'),
      '',
    ])
      expect(tokens.verify(wrong, 'view')).toBeNull();
  });

  it('is good for its own kind of link alone', () => {
    fc.assert(
      fc.property(claimsOf, fc.constantFrom(...KINDS), (claims, kind) => {
        fc.pre(kind !== claims.kind);
        expect(tokens.verify(tokens.sign(claims), kind)).toBeNull();
      }),
    );
  });

  it('of another secret, or of pixels and tracked links under the same one, is refused', () => {
    fc.assert(
      fc.property(claimsOf, (claims) => {
        const other = new LinkTokens('another secret of the tests, long enough');
        expect(tokens.verify(other.sign(claims), claims.kind)).toBeNull();
        const mail = { environmentId: claims.environmentId, linkSet: 1, deliveryId: claims.id };
        const tracking = new TrackingTokens(SECRET);
        for (const token of tracking.sign(mail, 1)) expect(tokens.verify(token, claims.kind)).toBeNull();
        expect(tracking.verify(tokens.sign(claims))).toBeNull();
      }),
    );
  });

  it('cannot be put together from the halves of two', () => {
    fc.assert(
      fc.property(claimsOf, claimsOf, fc.integer({ min: 1, max: 57 }), (one, other, at) => {
        const [first, second] = [tokens.sign(one), tokens.sign(other)];
        const spliced = first.slice(0, at) + second.slice(at);
        fc.pre(spliced !== first && spliced !== second);
        for (const kind of KINDS) expect(tokens.verify(spliced, kind)).toBeNull();
      }),
    );
  });
});

const seals = new MailSeals('a secret of the tests, long enough for it');
const mail = {
  environmentId: fc.integer({ min: 1, max: 3 }),
  deliveryId: fc.uuid(),
  subscriberId: fc.uuid(),
};

describe('what a mail showed', () => {
  it('is read from its link with the mail and its reader alone', () => {
    fc.assert(
      fc.property(fc.record(mail), fc.record(mail), fc.string({ unit: 'grapheme' }), (own, other, text) => {
        const sealed = seals.seal(own, text);
        expect(sealed).toMatch(/^[\w-]+$/);
        expect(seals.open(own, sealed)).toBe(text);
        expect(seals.open({ ...own, subscriberId: other.subscriberId }, sealed)).toBeNull();
        expect(seals.open({ ...own, deliveryId: other.deliveryId }, sealed)).toBeNull();
        expect(seals.open({ ...own, environmentId: own.environmentId + 1 }, sealed)).toBeNull();
        expect(new MailSeals('another secret of the tests').open(own, sealed)).toBeNull();
      }),
    );
  });

  it('is not read when any bit of it is another, or a part is missing', () => {
    const own = {
      environmentId: 1,
      deliveryId: '019aa3b5-0000-7000-8000-000000000000',
      subscriberId: '019aa3b5-0000-7000-8000-000000000001',
    };
    const good = Buffer.from(seals.seal(own, '{"subscriber.first_name":"Ada"}'), 'base64url');
    const opened: unknown[] = [];
    for (let bit = 0; bit < good.length * 8; bit += 1) {
      const forged = Buffer.from(good);
      forged.writeUInt8(forged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      opened.push(seals.open(own, forged.toString('base64url')));
    }
    for (let length = 0; length < good.length; length += 1)
      opened.push(seals.open(own, good.subarray(0, length).toString('base64url')));
    expect(new Set(opened)).toEqual(new Set([null]));
  });
});
