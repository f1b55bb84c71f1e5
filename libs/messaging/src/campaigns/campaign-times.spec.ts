import { describe, expect, it } from '@jest/globals';
import { changedTimes, lastTimeOf, timeFaults } from './campaign-times.js';

const noon = new Date('2027-01-05T12:00:00Z');
const never = { scheduledAt: null, scheduledAtLocal: null };
const atNoon = { scheduledAt: noon, scheduledAtLocal: null };
const atNine = { scheduledAt: new Date('2027-01-04T19:00:00Z'), scheduledAtLocal: '2027-01-05T09:00' };
const local = '2027-01-05T09:00';

describe('The time of a campaign', () => {
  it.each([
    [never, { scheduledAtLocal: local }, atNine],
    [atNoon, { scheduledAtLocal: local }, atNine],
    [atNoon, { scheduledAtLocal: local, scheduledAt: null }, atNine],
    [atNine, { scheduledAt: noon }, atNoon],
    [atNine, { scheduledAt: noon, scheduledAtLocal: null }, atNoon],
    [atNine, { scheduledAt: null }, never],
    [atNine, { scheduledAtLocal: null }, never],
    [atNoon, { scheduledAtLocal: null }, atNoon],
    [atNoon, { scheduledAt: null }, never],
    [atNine, {}, atNine],
  ])('%j with %j is %j', (before, changes, after) => {
    expect(changedTimes(changes, before)).toEqual(after);
  });

  it('is over when it has passed in the last zone', () => {
    expect([lastTimeOf(never), lastTimeOf(atNoon)]).toEqual([null, noon]);
    expect(lastTimeOf(atNine)).toEqual(new Date('2027-01-05T21:00:00Z'));
    const before = new Date('2027-01-05T20:59:59Z');
    expect(timeFaults({ scheduledAtLocal: local }, before)).toEqual({});
    expect(timeFaults({ scheduledAtLocal: local }, new Date('2027-01-05T21:00:00Z'))).toEqual({
      scheduledAtLocal: 'must be in the future',
    });
    expect(timeFaults({ scheduledAt: noon }, noon)).toEqual({ scheduledAt: 'must be in the future' });
    expect(timeFaults({}, noon)).toEqual({});
  });
});
