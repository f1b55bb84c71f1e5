import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { compare, fisher, isClearlyAbove, proportion, pValue, shareOf, wilson, zOf } from './proportion.js';

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
        // The bound of a slight difference depends on which of the two is the usual one.
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

describe('As scipy has it', () => {
  // test/support/fixtures/scipy-proportions.py
  it.each([
    [[300, 1000], [200, 1000], [0.27240684247700486, 0.32912386091721724], 2.4175638811190183e-7],
    [[210, 1000], [200, 1000], [0.18588891937362567, 0.23633060054799632], 0.5796532713054177],
    [[204000, 1000000], [200000, 1000000], [0.20321133307542844, 0.2047909410594574], 1.857454997000827e-12],
    [[31, 412], [18, 405], [0.05351164114491278, 0.10482143850380057], 0.06378488620085089],
    [[55, 9988], [102, 10012], [0.004233316057011357, 0.00716012521103399], 0.00017632351339846348],
    [[400, 1000], [100, 1000], [0.37007478121137727, 0.4306905704857338], 3.932833179348523e-54],
    [[990, 1000], [970, 1000], [0.9816905311296852, 0.9945592455544706], 0.001401301580960214],
    [[3, 40], [0, 38], [0.025836025774588198, 0.19864233524310543], 0.25974025974025977],
    [[1, 1000], [2, 1000], [0.00017654637062607809, 0.0056425585979579355], 1.0],
    [[7, 12], [2, 11], [0.31951131254954973, 0.8067396863412435], 0.12047381881814513],
    [[0, 20], [4, 20], [0.0, 0.16112515805281935], 0.10602910602910603],
  ] as const)('%j against %j', (a, b, [low, high], chance) => {
    const [one, other] = [proportion(a[0], a[1]), proportion(b[0], b[1])];
    expect(Math.abs(wilson(one).low - low)).toBeLessThan(1e-12);
    expect(Math.abs(wilson(one).high - high)).toBeLessThan(1e-12);
    expect(Math.abs(pValue(one, other) / chance - 1)).toBeLessThan(1e-8);
    expect(pValue(other, one)).toBeCloseTo(pValue(one, other), 12);
  });

  it('leaves to chance what cannot be compared', () => {
    for (const [one, other] of [
      [proportion(0, 0), proportion(3, 9)],
      [proportion(0, 50), proportion(0, 60)],
      [proportion(50, 50), proportion(60, 60)],
    ] as const)
      expect(pValue(one, other)).toBe(1);
  });
});
