import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { firstMomentOf, lastMomentOf, momentOfLocalTime, parseLocalTime, wallTime } from './local-time.js';

describe('A local time', () => {
  it.each([
    ['2027-01-05T09:00', '2027-01-05T09:00'],
    ['2027-01-05T09:00:00', '2027-01-05T09:00'],
    ['2028-02-29T23:59:58', '2028-02-29T23:59:58'],
  ])('%j is read as %s', (text, local) => {
    expect(parseLocalTime(text)).toBe(local);
  });

  it.each([
    '',
    '2027-01-05',
    '2027-01-05 09:00',
    '2027-01-05T09:00Z',
    '2027-01-05T09:00+01:00',
    '2027-01-05T09:00:00.5',
    '2027-1-5T9:00',
    '2027-02-29T09:00',
    '2027-04-31T09:00',
    '2027-13-01T09:00',
    '2027-01-05T24:00',
    '2027-01-05T09:60',
    '2027-01-05T09:00\n',
  ])('%j is refused', (text) => {
    expect(parseLocalTime(text)).toBeNull();
  });

  it.each([
    ['in summer', '2027-07-05T09:00', 'Europe/Berlin', '2027-07-05T07:00:00.000Z'],
    ['in winter', '2027-01-05T09:00:30', 'Europe/Berlin', '2027-01-05T08:00:30.000Z'],
    ['behind the gap when clocks skip it', '2027-03-28T02:30', 'Europe/Berlin', '2027-03-28T01:30:00.000Z'],
    [
      'the first time when it comes twice',
      '2026-11-01T01:30',
      'America/New_York',
      '2026-11-01T05:30:00.000Z',
    ],
    ['with half an hour', '2027-01-05T09:00', 'Asia/Kolkata', '2027-01-05T03:30:00.000Z'],
    ['the day before', '2027-01-05T09:00', 'Pacific/Kiritimati', '2027-01-04T19:00:00.000Z'],
    ['behind a day that was skipped', '2011-12-30T09:00', 'Pacific/Apia', '2011-12-30T19:00:00.000Z'],
  ])('comes %s', (_, local, timeZone, moment) => {
    expect(momentOfLocalTime(local, timeZone).toISOString()).toBe(moment);
  });

  it('comes in every zone between its first moment and its last', () => {
    const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'Etc/GMT-14', 'Etc/GMT+12');
    const minutes = fc.integer({ min: Date.UTC(2026, 0) / 60_000, max: Date.UTC(2036, 0) / 60_000 });
    fc.assert(
      fc.property(zones, minutes, (timeZone, minute) => {
        const wall = minute * 60_000;
        const local = new Date(wall).toISOString().slice(0, 16);
        const moment = momentOfLocalTime(local, timeZone).getTime();
        expect(moment).toBeGreaterThanOrEqual(firstMomentOf(local).getTime());
        expect(moment).toBeLessThanOrEqual(lastMomentOf(local).getTime());
        // Clocks are put forward by an hour at most, since 2012.
        expect([0, 30, 60].map((skipped) => wall + skipped * 60_000)).toContain(wallTime(moment, timeZone));
      }),
    );
  });
});
