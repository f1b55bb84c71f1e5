import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { nextLocalTime } from './delay.js';

const EVERY_DAY = [1, 2, 3, 4, 5, 6, 7];
const next = (time: string, timezone: string, from: string, days = EVERY_DAY) => {
  const [hour = 0, minute = 0] = time.split(':').map(Number);
  return nextLocalTime({ hour, minute, timezone, daysOfWeek: new Set(days) }, new Date(from)).toISOString();
};

describe('the next local time', () => {
  it.each([
    ['later the same day', '09:00', 'Europe/Berlin', '2026-06-01T05:00:00Z', '2026-06-01T07:00:00.000Z'],
    [
      'the next day when it is past',
      '09:00',
      'Europe/Berlin',
      '2026-06-01T07:00:01Z',
      '2026-06-02T07:00:00.000Z',
    ],
    [
      'at once at that very moment',
      '09:00',
      'Europe/Berlin',
      '2026-06-01T07:00:00Z',
      '2026-06-01T07:00:00.000Z',
    ],
    [
      'of the day there, not here',
      '08:00',
      'Pacific/Auckland',
      '2026-06-01T21:00:00Z',
      '2026-06-02T20:00:00.000Z',
    ],
    ['in half-hour zones', '09:00', 'Asia/Kolkata', '2026-06-01T00:00:00Z', '2026-06-01T03:30:00.000Z'],
    [
      'across the clocks going forward',
      '09:00',
      'Europe/Berlin',
      '2026-03-28T09:00:00Z',
      '2026-03-29T07:00:00.000Z',
    ],
    [
      'across the clocks going back',
      '09:00',
      'America/New_York',
      '2026-10-31T14:00:00Z',
      '2026-11-01T14:00:00.000Z',
    ],
    [
      'behind the gap for a time that clocks skip',
      '02:30',
      'Europe/Berlin',
      '2026-03-29T00:00:00Z',
      '2026-03-29T01:30:00.000Z',
    ],
    [
      'behind the gap in New York, too',
      '02:30',
      'America/New_York',
      '2026-03-08T05:00:00Z',
      '2026-03-08T07:30:00.000Z',
    ],
    [
      'the first of a time that comes twice',
      '02:30',
      'Europe/Berlin',
      '2026-10-25T00:00:00Z',
      '2026-10-25T00:30:00.000Z',
    ],
    [
      'the next day once a time that comes twice has come',
      '02:30',
      'Europe/Berlin',
      '2026-10-25T00:31:00Z',
      '2026-10-26T01:30:00.000Z',
    ],
    [
      'with a change of half an hour',
      '02:15',
      'Australia/Lord_Howe',
      '2026-10-03T15:00:00Z',
      '2026-10-03T15:45:00.000Z',
    ],
  ])('is %s', (_, time, timezone, from, expected) => {
    expect(next(time, timezone, from)).toBe(expected);
  });

  it('waits for one of the days of the week, as they are there', () => {
    // Monday in UTC is Tuesday in Auckland.
    expect(next('09:00', 'Pacific/Auckland', '2026-06-01T22:00:00Z', [2])).toBe('2026-06-08T21:00:00.000Z');
    expect(next('09:00', 'Europe/Berlin', '2026-06-06T10:00:00Z', [1, 3])).toBe('2026-06-08T07:00:00.000Z');
  });

  it('is never past, never more than a day and a gap away, and shows that time wherever clocks do not skip it', () => {
    const zones = [
      'Europe/Berlin',
      'America/New_York',
      'Pacific/Auckland',
      'Asia/Kolkata',
      'UTC',
      'America/Sao_Paulo',
    ];
    const minute = fc.integer({ min: 0, max: 24 * 60 - 1 });
    const from = fc.date({ min: new Date('2020-01-01'), max: new Date('2035-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(minute, fc.constantFrom(...zones), from, (at, timezone, moment) => {
        const [hour, minutes] = [Math.floor(at / 60), at % 60];
        const found = nextLocalTime(
          { hour, minute: minutes, timezone, daysOfWeek: new Set(EVERY_DAY) },
          moment,
        );
        const away = found.getTime() - moment.getTime();
        expect(away).toBeGreaterThanOrEqual(0);
        expect(away).toBeLessThanOrEqual(26 * 3_600_000);
        const shown = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, timeStyle: 'short' }).format(
          found,
        );
        const wanted = `${String(hour).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`;
        const skipped = `${String((hour + 1) % 24).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`;
        expect([wanted, skipped]).toContain(shown);
      }),
    );
  });
});
