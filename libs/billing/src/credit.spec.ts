import { describe, expect, it } from '@jest/globals';
import { additionFaults, type CreditAddition } from './credit.js';

const MOST = 1_000_000_000;
const faultsOf = (addition: Partial<CreditAddition>) =>
  additionFaults({ type: 'PURCHASE', credits: 1, ...addition });

describe('credits that are added', () => {
  it.each([1, 7, MOST])('may be %d', (credits) => {
    for (const type of ['GRANT', 'PURCHASE', 'ADJUSTMENT'] as const)
      expect(faultsOf({ type, credits })).toEqual({});
  });

  it.each([0, 1.5, Number.NaN, MOST + 1, -MOST - 1])('are never %d', (credits) => {
    expect(faultsOf({ type: 'ADJUSTMENT', credits })).toEqual({
      credits: 'must be an integer other than 0, at most 1000000000',
    });
  });

  it('are taken by an adjustment alone', () => {
    expect(faultsOf({ type: 'ADJUSTMENT', credits: -MOST })).toEqual({});
    for (const type of ['GRANT', 'PURCHASE'] as const)
      expect(faultsOf({ type, credits: -1 })).toEqual({ credits: 'must be more than 0' });
  });

  it.each([undefined, null, 'A', 'x'.repeat(500)])(
    'are described in up to 500 characters, or not',
    (description) => {
      expect(faultsOf(description === undefined ? {} : { description })).toEqual({});
    },
  );

  it.each(['', '   ', 'x'.repeat(501)])('are not described by nothing, nor in more', (description) => {
    expect(faultsOf({ description })).toEqual({ description: 'must be 1 to 500 characters' });
    expect(Object.keys(faultsOf({ credits: 0, description }))).toEqual(['credits', 'description']);
  });
});
