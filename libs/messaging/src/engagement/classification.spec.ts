import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { burstsOf, classificationOf, KNOWN_AGENTS, kindOfAgent } from './classification.js';

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

describe('a user agent', () => {
  it.each(KNOWN_AGENTS.flatMap((agent) => agent.samples.map((sample) => [sample, agent.classification])))(
    '%s is a %s',
    (sample, classification) => {
      expect(kindOfAgent(sample)).toBe(classification);
      expect(classificationOf(kindOfAgent(sample))).toBe(classification);
    },
  );

  it.each([
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
      'apple',
    ],
    [
      'Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Mobile Safari/537.36',
      'android',
    ],
    ['Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17928; Pro)', 'outlook'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36',
      'desktop',
    ],
    ['curl/8.5.0', 'other'],
    [undefined, 'other'],
  ])('%s may be a person’s', (sample, kind) => {
    expect(kindOfAgent(sample)).toBe(kind);
    expect(classificationOf(kindOfAgent(sample))).toBeNull();
  });
});
