import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { warmUpDay, warmUpDays } from './warm-up.js';

const DAY = 86_400_000;
const verifiedAt = new Date('2026-11-01T09:30:00Z');
const after = (days: number) => new Date(verifiedAt.getTime() + days * DAY);

describe('the warm-up of a new domain', () => {
  it.each([
    [0, 1, 200],
    [0.99, 1, 200],
    [1, 2, 300],
    [2, 3, 450],
    [3, 4, 675],
    [9, 10, 7_688],
    [29.99, 30, 25_566_807],
  ])('%d days after the verification is on day %d with %d mails', (passed, day, cap) => {
    expect(warmUpDay(verifiedAt, after(passed))).toMatchObject({ day, cap });
  });

  it('ends after thirty days', () => {
    expect(warmUpDay(verifiedAt, after(30))).toBeNull();
    expect(warmUpDays(1_000_000, verifiedAt, after(30))).toBe(1);
  });

  it('is on its first day for a clock that lags behind', () => {
    expect(warmUpDay(verifiedAt, after(-0.01))).toMatchObject({ day: 1, startsAt: verifiedAt });
  });

  it.each([
    [1, 1],
    [200, 1],
    [201, 2],
    [500, 2],
    [501, 3],
    [950, 3],
    [951, 4],
  ])('has %d mails sent within %d days', (emails, days) => {
    expect(warmUpDays(emails, verifiedAt, verifiedAt)).toBe(days);
  });

  it('always says a day that now is in, and never a smaller cap on a later one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 30 * DAY - 1 }), fc.nat(DAY), (passed, more) => {
        const now = new Date(verifiedAt.getTime() + passed);
        const day = warmUpDay(verifiedAt, now)!;
        expect(day.startsAt <= now && now < day.endsAt).toBe(true);
        const later = warmUpDay(verifiedAt, new Date(now.getTime() + more));
        expect(later === null || later.cap >= day.cap).toBe(true);
      }),
    );
  });
});
