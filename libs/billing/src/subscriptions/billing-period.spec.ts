import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { type BillingInterval, billingPeriod } from './billing-period.js';

const at = (text: string) => new Date(text);
const lastDayOf = (date: Date) =>
  new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
const timeOfDay = (date: Date) =>
  date.getTime() - Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());

const moment = fc.date({
  min: at('1990-01-01T00:00:00Z'),
  max: at('2090-01-01T00:00:00Z'),
  noInvalidDate: true,
});
const interval = fc.constantFrom<BillingInterval>('MONTHLY', 'YEARLY');

describe('The billing period', () => {
  it('of a subscription begun on 31 January goes by the last day of shorter months', () => {
    const anchor = at('2026-01-31T10:00:00.000Z');
    expect(billingPeriod(anchor, at('2026-02-10T00:00:00Z'))).toEqual({
      start: at('2026-01-31T10:00:00.000Z'),
      end: at('2026-02-28T10:00:00.000Z'),
    });
    expect(billingPeriod(anchor, at('2026-02-28T10:00:00Z'))).toEqual({
      start: at('2026-02-28T10:00:00.000Z'),
      end: at('2026-03-31T10:00:00.000Z'),
    });
    expect(billingPeriod(anchor, at('2028-02-29T09:59:59.999Z')).end).toEqual(at('2028-02-29T10:00:00.000Z'));
  });

  it('of a year begun on 29 February ends on 28 February, and on the 29th in leap years', () => {
    const anchor = at('2024-02-29T00:00:00.000Z');
    expect(billingPeriod(anchor, at('2025-01-01T00:00:00Z'), 'YEARLY').end).toEqual(
      at('2025-02-28T00:00:00.000Z'),
    );
    expect(billingPeriod(anchor, at('2027-12-01T00:00:00Z'), 'YEARLY').end).toEqual(
      at('2028-02-29T00:00:00.000Z'),
    );
  });

  it('contains the moment asked for', () => {
    fc.assert(
      fc.property(moment, moment, interval, (anchor, now, by) => {
        const { start, end } = billingPeriod(anchor, now, by);
        expect(start <= now && now < end).toBe(true);
      }),
    );
  });

  it('follows the one before without a gap', () => {
    fc.assert(
      fc.property(moment, moment, interval, (anchor, now, by) => {
        const period = billingPeriod(anchor, now, by);
        expect(billingPeriod(anchor, period.start, by)).toEqual(period);
        expect(billingPeriod(anchor, period.end, by).start).toEqual(period.end);
        expect(billingPeriod(anchor, new Date(period.start.getTime() - 1), by).end).toEqual(period.start);
      }),
    );
  });

  it('begins on the day and at the time of day of its subscription, or on the last day of the month', () => {
    fc.assert(
      fc.property(moment, moment, (anchor, now) => {
        const { start } = billingPeriod(anchor, now);
        expect(start.getUTCDate()).toBe(Math.min(anchor.getUTCDate(), lastDayOf(start)));
        expect(timeOfDay(start)).toBe(timeOfDay(anchor));
      }),
    );
  });
});
