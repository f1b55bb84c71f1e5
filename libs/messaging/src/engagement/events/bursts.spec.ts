import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/properties';
import { burstsOf } from './bursts.js';

const sentAt = new Date('2026-11-21T09:00:00.000Z');
const after = (milliseconds: number) => new Date(sentAt.getTime() + milliseconds);

describe('a burst', () => {
  const click = (ms: number, linkNumber: number) => ({ at: after(ms), linkNumber });

  it('is three different links within a second', () => {
    const clicks = [click(0, 1), click(500, 2), click(1_000, 3)];
    expect(burstsOf(clicks).size).toBe(3);
    expect(burstsOf([click(0, 1), click(500, 2), click(1_001, 3)]).size).toBe(0);
  });

  it('is not made of one link followed often', () => {
    expect(burstsOf([click(0, 1), click(1, 1), click(2, 1), click(3, 2)]).size).toBe(0);
  });

  it('is what a look at every second finds, in whatever order clicks are given', () => {
    const clicksOf = fc.array(fc.record({ ms: fc.nat(4_000), link: fc.integer({ min: 1, max: 5 }) }), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(clicksOf, (made) => {
        const clicks = made.map(({ ms, link }) => click(ms, link));
        const windows = clicks.map(({ at }) =>
          clicks.filter((other) => other.at >= at && other.at.getTime() - at.getTime() <= 1_000),
        );
        const expected = new Set(
          windows.filter((window) => new Set(window.map(({ linkNumber }) => linkNumber)).size >= 3).flat(),
        );
        expect(burstsOf(clicks)).toEqual(expected);
      }),
    );
  });
});
