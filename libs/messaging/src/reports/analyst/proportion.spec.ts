import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/properties';
import { compare, fisher, isClearlyAbove, proportion, shareOf, wilson, zOf } from './proportion.js';

const anyProportion = fc
  .tuple(fc.integer({ min: 1, max: 1_000_000 }), fc.double({ min: 0, max: 1, noNaN: true }))
  .map(([of, at]) => proportion(Math.round(of * at), of));

describe('Wilson’s interval', () => {
  // R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('of %i of %i is %f to %f', (part, of, low, high) => {
    const interval = wilson(proportion(part, of));
    expect(interval.low).toBeCloseTo(low, 4);
    expect(interval.high).toBeCloseTo(high, 4);
  });

  it('is everything when there is nothing', () => {
    expect(wilson(proportion(0, 0))).toEqual({ low: 0, high: 1 });
  });

  it('holds the share, within 0 and 1', () => {
    fc.assert(
      fc.property(anyProportion, (one) => {
        const { low, high } = wilson(one);
        expect(0 <= low && low <= shareOf(one) && shareOf(one) <= high && high <= 1).toBe(true);
      }),
    );
  });
});

describe('The comparison of two shares', () => {
  it.each([
    ['clearly more', [300, 1_000], [200, 1_000], 'higher'],
    ['clearly less', [200, 1_000], [300, 1_000], 'lower'],
    ['a difference that chance makes', [210, 1_000], [200, 1_000], 'same'],
    ['a sure difference too slight to speak of', [204_000, 1_000_000], [200_000, 1_000_000], 'same'],
    ['nothing in either', [0, 500], [0, 9_000], 'same'],
    ['a handful', [2, 10], [200, 1_000], 'too-few'],
    ['many of few', [30, 100], [9, 830], 'higher'],
    ['rare cases', [1, 1_000], [2, 1_000], 'too-few'],
    ['nothing to compare with', [5, 10], [0, 0], 'too-few'],
  ] as const)('finds %s', (_, [a, ofA], [b, ofB], verdict) => {
    expect(compare(proportion(a, ofA), proportion(b, ofB))).toBe(verdict);
  });

  it('gives the z that textbooks give', () => {
    // pooled 0.25: 0.1 / √(0.25 · 0.75 · 2/1000)
    expect(zOf(proportion(300, 1_000), proportion(200, 1_000))).toBeCloseTo(5.164, 3);
  });

  // The tails by hand: C(4,3)·C(4,1)/C(8,4) + 1/C(8,4) = 17/70; R. A. Fisher's tea, and 4 of 4 against none.
  it.each([
    [3, 4, 1, 4, (2 * 17) / 70],
    [4, 4, 0, 4, 2 / 70],
    [0, 3, 0, 900_000, 1],
  ])('by exact test of %i of %i and %i of %i finds %f', (part, of, otherPart, otherOf, chance) => {
    expect(fisher(proportion(part, of), proportion(otherPart, otherOf))).toBeCloseTo(chance, 9);
  });

  it('says the opposite when the two change places', () => {
    const opposite = { higher: 'lower', lower: 'higher', same: 'same', 'too-few': 'too-few' } as const;
    fc.assert(
      fc.property(anyProportion, anyProportion, (a, b) => {
        const [there, back] = [compare(a, b), compare(b, a)];
        // What is slight depends on which of the two is the usual one.
        if (there !== 'same' && back !== 'same') expect(back).toBe(opposite[there]);
      }),
    );
  });

  it('never calls both of two clearly above the other', () => {
    fc.assert(
      fc.property(anyProportion, anyProportion, (a, b) => {
        expect(isClearlyAbove(a, b) && isClearlyAbove(b, a)).toBe(false);
      }),
    );
  });
});
