import { describe, expect, it } from '@jest/globals';
import { after, anniversaryDays, before, daysOf, momentsOf, parseDuration } from './rule-dates.js';
import type { RuleDuration } from './rule.js';

const NOW = new Date('2026-11-21T06:00:00.000Z');

function duration(text: string): RuleDuration {
  const parsed = parseDuration(text);
  if ('fault' in parsed) throw new Error(`${text} ${parsed.fault}`);
  return parsed.duration;
}

describe('durations', () => {
  it.each([
    ['P1M', '2026-03-31T10:00:00.000Z', '2026-02-28T10:00:00.000Z', '2026-04-30T10:00:00.000Z'],
    ['P1Y', '2024-02-29T10:00:00.000Z', '2023-02-28T10:00:00.000Z', '2025-02-28T10:00:00.000Z'],
    ['P1M1D', '2026-03-31T00:00:00.000Z', '2026-02-27T00:00:00.000Z', '2026-05-01T00:00:00.000Z'],
    ['P2W', '2026-01-05T00:00:00.000Z', '2025-12-22T00:00:00.000Z', '2026-01-19T00:00:00.000Z'],
    ['PT36H', '2026-01-01T00:00:00.000Z', '2025-12-30T12:00:00.000Z', '2026-01-02T12:00:00.000Z'],
    ['P14M', '2026-01-31T00:00:00.000Z', '2024-11-30T00:00:00.000Z', '2027-03-31T00:00:00.000Z'],
    ['PT1M30S', '2026-01-01T00:00:00.000Z', '2025-12-31T23:58:30.000Z', '2026-01-01T00:01:30.000Z'],
  ])('%s from %s leads back to %s and on to %s', (text, moment, back, on) => {
    expect(before(new Date(moment), duration(text)).toISOString()).toBe(back);
    expect(after(new Date(moment), duration(text)).toISOString()).toBe(on);
  });

  it.each(['P730D', 'P2Y', 'P24M', 'P104W', 'PT17520H'])('%s is not too long', (text) => {
    expect(parseDuration(text)).toHaveProperty('duration');
  });

  it.each(['P731D', 'P2Y1D', 'P25M', 'P105W', 'PT17521H', 'P999999999Y'])('%s is too long', (text) => {
    expect(parseDuration(text)).toEqual({ fault: 'must be at most P730D' });
  });

  it.each([
    '',
    'P',
    'PT',
    'P1',
    '30D',
    'p30d',
    'P-1D',
    'P1.5D',
    'P1DT',
    'P1H',
    'PT1D',
    ' P1D',
    'P1D\n',
    'P1D1M',
  ])('%j is none', (text) => {
    expect(parseDuration(text)).toEqual({ fault: 'must be an ISO 8601 duration such as P30D' });
  });

  it('of nothing are refused', () => {
    expect(parseDuration('P0D')).toEqual({ fault: 'must be longer than zero' });
  });
});

describe('days and moments of a rule', () => {
  it('take the last and the next days as whole days, today included', () => {
    const last = daysOf({ test: 'relative', of: 'date', is: 'inLast', duration: duration('P7D') }, NOW);
    expect([last.from?.value, last.to?.value]).toEqual(['2026-11-14', '2026-11-21']);
    const next = daysOf({ test: 'relative', of: 'date', is: 'inNext', duration: duration('PT18H') }, NOW);
    expect([next.from?.value, next.to?.value]).toEqual(['2026-11-21', '2026-11-22']);
  });

  it.each([
    ['before', null, { value: '2026-01-01', inclusive: false }],
    ['after', { value: '2026-01-01', inclusive: false }, null],
    ['on', { value: '2026-01-01', inclusive: true }, { value: '2026-01-01', inclusive: true }],
  ] as const)('take the days %s a day, and those of a moment’s day alike', (is, from, to) => {
    for (const than of [{ day: '2026-01-01' }, { moment: new Date('2025-12-31T23:00:00-02:00') }])
      expect(daysOf({ test: 'calendar', of: 'date', is, than }, NOW)).toEqual({ from, to });
  });

  it('include both ends of a window', () => {
    const test = { test: 'relative', of: 'moment', is: 'inLast', duration: duration('PT12H') } as const;
    const included = <Value>(value: Value) => ({ value, inclusive: true });
    expect(momentsOf(test, NOW)).toEqual({
      from: included(new Date('2026-11-20T18:00:00Z')),
      to: included(NOW),
    });
    expect(momentsOf({ ...test, is: 'inNext' }, NOW)).toEqual({
      from: included(NOW),
      to: included(new Date('2026-11-21T18:00:00Z')),
    });
    expect(daysOf({ ...test, of: 'date' }, NOW)).toEqual({
      from: included('2026-11-20'),
      to: included('2026-11-21'),
    });
  });

  const [someDay, someMoment] = [{ day: '2026-02-28' }, { moment: new Date('2026-02-28T12:00:00Z') }];
  const bound = (text: string, inclusive = false) => ({ value: new Date(text), inclusive });
  it.each([
    ['before', someMoment, null, bound('2026-02-28T12:00:00Z')],
    ['after', someMoment, bound('2026-02-28T12:00:00Z'), null],
    ['before', someDay, null, bound('2026-02-28T00:00:00Z')],
    ['after', someDay, bound('2026-03-01T00:00:00Z', true), null],
    ['on', someDay, bound('2026-02-28T00:00:00Z', true), bound('2026-03-01T00:00:00Z')],
    ['on', someMoment, bound('2026-02-28T00:00:00Z', true), bound('2026-03-01T00:00:00Z')],
  ] as const)('%s %j are the moments from %j to %j', (is, than, from, to) => {
    expect(momentsOf({ test: 'calendar', of: 'moment', is, than }, NOW)).toEqual({ from, to });
  });

  it('put a moment on its day in UTC', () => {
    const moment = new Date('2026-01-01T23:30:00-02:00');
    const on = momentsOf({ test: 'calendar', of: 'moment', is: 'on', than: { moment } }, NOW);
    expect(on.from?.value).toEqual(new Date('2026-01-02T00:00:00Z'));
    expect(on.to).toEqual({ value: new Date('2026-01-03T00:00:00Z'), inclusive: false });
  });

  it('begin after a day with the next one', () => {
    const later = momentsOf(
      { test: 'calendar', of: 'moment', is: 'after', than: { day: '2026-02-28' } },
      NOW,
    );
    expect(later).toEqual({ from: { value: new Date('2026-03-01T00:00:00Z'), inclusive: true }, to: null });
  });

  it.each([
    ['P2D', '2026-12-30T12:00:00Z', ['12-30', '12-31', '01-01']],
    ['P1D', '2027-02-27T00:00:00Z', ['02-27', '02-28', '02-29']],
    ['P1D', '2028-02-27T00:00:00Z', ['02-27', '02-28']],
    ['PT1H', '2026-11-21T23:30:00Z', ['11-21', '11-22']],
  ])('have the anniversaries of the next %s from %s on %j', (text, now, expected) => {
    expect(anniversaryDays(duration(text), new Date(now))).toEqual(expected);
  });

  it('have everybody’s anniversary within a year, 29 February included', () => {
    expect(anniversaryDays(duration('P1Y'), NOW)).toBeNull();
    expect(anniversaryDays(duration('P364D'), new Date('2026-03-01T00:00:00Z'))).toBeNull();
  });
});
