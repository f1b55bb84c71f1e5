import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { GIVE_UP_AFTER_MS, nextAttemptAt } from './retry-schedule.js';

const start = new Date('2026-01-01T00:00:00.000Z');
const minutesUntil = (attempt: number, random: number) =>
  ((nextAttemptAt(attempt, start, start, () => random)?.getTime() ?? Number.NaN) - start.getTime()) / 60_000;

describe('nextAttemptAt', () => {
  it('waits 5, 15, 30 minutes, 1, 2 and then always 4 hours', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 20].map((attempt) => minutesUntil(attempt, 0.5))).toEqual([
      5, 15, 30, 60, 120, 240, 240, 240,
    ]);
  });

  it('spreads each wait by a fifth to either side', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (attempt, random) => {
          const ratio = minutesUntil(attempt, random) / minutesUntil(attempt, 0.5);
          expect(ratio).toBeGreaterThanOrEqual(0.799);
          expect(ratio).toBeLessThanOrEqual(1.201);
        },
      ),
    );
  });

  it('gives up when the next try would come later than 48 hours after the first', () => {
    const late = new Date(start.getTime() + GIVE_UP_AFTER_MS - 60_000);
    expect(nextAttemptAt(9, start, late, () => 0.5)).toBeNull();
  });

  it('tries a last time when that is 48 hours after the first to the millisecond', () => {
    const late = new Date(start.getTime() + GIVE_UP_AFTER_MS - 4 * 3_600_000);
    expect(nextAttemptAt(9, start, late, () => 0.5)).toEqual(new Date(start.getTime() + GIVE_UP_AFTER_MS));
    expect(nextAttemptAt(9, start, new Date(late.getTime() + 1), () => 0.5)).toBeNull();
  });
});
