import { describe, expect, it } from '@jest/globals';
import { newId } from '#kernel';
import * as fc from '#testing/random/properties';
import { MAX_TRACKED_PLACES, TrackingTokens } from './tracking-tokens.js';

const tokens = new TrackingTokens('a secret of the tests, long enough for it');
const mail = { environmentId: 7, linkSet: 42, deliveryId: newId() };

describe('tracking tokens', () => {
  it('say which mail they belong to and which of its places they stand in', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 40 - 1 }),
        fc.integer({ min: 1, max: 2 ** 40 - 1 }),
        fc.uuid(),
        fc.integer({ min: 1, max: 30 }),
        (environmentId, linkSet, deliveryId, places) => {
          const signed = tokens.sign({ environmentId, linkSet, deliveryId }, places);
          expect(signed.map((token) => tokens.verify(token))).toEqual(
            signed.map((_, place) => ({ environmentId, linkSet, deliveryId, place })),
          );
        },
      ),
    );
  });

  it('keep a link below 120 characters on a host of 60', () => {
    const [token = ''] = tokens.sign(mail, 1);
    expect(token).toMatch(/^[A-Za-z0-9_-]{56}$/);
    expect(`https://${'h'.repeat(52)}/l/${token}`.length).toBeLessThanOrEqual(120);
  });

  it('are refused when any one character is another', () => {
    const [, token = ''] = tokens.sign(mail, 2);
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom('A', 'a', '0', '_', '-'), (at, other) => {
        fc.pre(token[at] !== other);
        expect(tokens.verify(token.slice(0, at) + other + token.slice(at + 1))).toBeNull();
      }),
    );
  });

  it('bind the place: the signature of one link is not good for another', () => {
    const [first = '', second = ''] = tokens.sign(mail, 2);
    expect(tokens.verify(first.slice(0, 38) + second.slice(38))).toEqual(tokens.verify(second));
    const swapped = Buffer.from(first, 'base64url');
    swapped.writeUInt16BE(1, 27);
    expect(tokens.verify(swapped.toString('base64url'))).toBeNull();
  });

  it.each(['', 'x', 'A'.repeat(56), 'A'.repeat(57), `${'A'.repeat(55)}=`, '../../etc/passwd'])(
    'refuse %j',
    (token) => {
      expect(tokens.verify(token)).toBeNull();
    },
  );

  it('of another secret, or of a place that no mail has, are refused', () => {
    const [token = ''] = new TrackingTokens('another secret of the tests, long enough').sign(mail, 1);
    expect(tokens.verify(token)).toBeNull();
    expect(tokens.verify(tokens.sign(mail, MAX_TRACKED_PLACES + 1).at(-1) ?? '')).toBeNull();
  });

  it('sign what the links of a campaign lead to, with whose they are', () => {
    const signature = tokens.signTargets('7/campaign', ['https://a.example', 'https://b.example']);
    expect(tokens.verifyTargets('7/campaign', ['https://a.example', 'https://b.example'], signature)).toBe(
      true,
    );
    expect(tokens.verifyTargets('8/campaign', ['https://a.example', 'https://b.example'], signature)).toBe(
      false,
    );
    expect(tokens.verifyTargets('7/campaign', ['https://a.example', 'https://evil.example'], signature)).toBe(
      false,
    );
    expect(tokens.verifyTargets('7/campaign', [], Buffer.alloc(0))).toBe(false);
  });
});
