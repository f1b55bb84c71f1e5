import { describe, expect, it } from '@jest/globals';
import { knownSegments, type SegmentLinks } from './rule-catalogue.query.js';

const segment = (id: string, conditionCount: number, ...uses: readonly string[]): SegmentLinks => ({
  id,
  segmentKey: `ACME-${id}`,
  conditionCount,
  uses,
});

/** 1 names 2 and 3, which both name 4; 5 stands alone and names one that is gone. */
const SEGMENTS = [
  segment('1', 1, '2', '3'),
  segment('2', 2, '4'),
  segment('3', 4, '4', '5'),
  segment('4', 8),
  segment('5', 16, '9'),
];

describe('segments that name one another', () => {
  it('have the conditions of all that they name, and as long a chain as the longest below them', () => {
    expect(knownSegments(SEGMENTS, null)).toEqual(
      new Map([
        ['ACME-1', { id: '1', leadsBack: false, conditions: 1 + 2 + 8 + 4 + 8 + 16, chain: 3 }],
        ['ACME-2', { id: '2', leadsBack: false, conditions: 10, chain: 2 }],
        ['ACME-3', { id: '3', leadsBack: false, conditions: 28, chain: 2 }],
        ['ACME-4', { id: '4', leadsBack: false, conditions: 8, chain: 1 }],
        ['ACME-5', { id: '5', leadsBack: false, conditions: 16, chain: 1 }],
      ]),
    );
  });

  it.each([
    ['4', ['ACME-1', 'ACME-2', 'ACME-3', 'ACME-4']],
    ['5', ['ACME-1', 'ACME-3', 'ACME-5']],
    ['1', ['ACME-1']],
  ])('lead back to %s from %j', (self, leading) => {
    const known = knownSegments(SEGMENTS, self);
    expect([...known].flatMap(([key, { leadsBack }]) => (leadsBack ? [key] : []))).toEqual(leading);
  });

  it('are looked at once each, however many ways lead to them', () => {
    const width = 40;
    const layers = Array.from({ length: width }, (_, layer) => [
      segment(`a${layer}`, 0, `a${layer + 1}`, `b${layer + 1}`),
      segment(`b${layer}`, 0, `a${layer + 1}`, `b${layer + 1}`),
    ]);
    expect(knownSegments(layers.flat(), null).get('ACME-a0')).toMatchObject({ chain: width });
  });
});
