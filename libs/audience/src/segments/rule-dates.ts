import { after, before, type RuleDuration } from './rule-duration.js';
import type { DateTest, DayOrMoment } from './segment-rules.js';

const DAY_MS = 86_400_000;
const DAYS_OF_YEAR = 366;

/** A range of days or of times; null is open. */
export interface Span<Bound> {
  readonly from: { readonly value: Bound; readonly inclusive: boolean } | null;
  readonly to: { readonly value: Bound; readonly inclusive: boolean } | null;
}

/** The day of a time in UTC, `YYYY-MM-DD`. */
export function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}

/**
 * The days that match a test of DATE values. Days count as a whole: `inLast` is from the day on which the window begins
 * until today, `inNext` from today until the day on which it ends. Not for `anniversaryInNext`.
 */
export function daysOf(test: DateTest, now: Date): Span<string> {
  if (test.test === 'calendar')
    return around(test.is, 'day' in test.than ? test.than.day : dayOf(test.than.moment));
  const [from, to] = window(test.is, test.duration, now);
  return { from: { value: dayOf(from), inclusive: true }, to: { value: dayOf(to), inclusive: true } };
}

function around(is: 'before' | 'after' | 'on', day: string): Span<string> {
  if (is === 'on') return { from: { value: day, inclusive: true }, to: { value: day, inclusive: true } };
  const bound = { value: day, inclusive: false };
  return is === 'before' ? { from: null, to: bound } : { from: bound, to: null };
}

/**
 * The times that match a test of DATETIME values. A time is before or after a day when it is before its beginning or after
 * its end, in UTC. Not for `anniversaryInNext`.
 */
export function momentsOf(test: DateTest, now: Date): Span<Date> {
  if (test.test === 'calendar') return momentsAround(test.is, test.than);
  const [from, to] = window(test.is, test.duration, now);
  return { from: { value: from, inclusive: true }, to: { value: to, inclusive: true } };
}

function momentsAround(is: 'before' | 'after' | 'on', than: DayOrMoment): Span<Date> {
  if ('moment' in than && is === 'before')
    return { from: null, to: { value: than.moment, inclusive: false } };
  if ('moment' in than && is === 'after') return { from: { value: than.moment, inclusive: false }, to: null };
  const midnight = new Date(`${'day' in than ? than.day : dayOf(than.moment)}T00:00:00.000Z`);
  const next = new Date(midnight.getTime() + DAY_MS);
  if (is === 'before') return { from: null, to: { value: midnight, inclusive: false } };
  if (is === 'after') return { from: { value: next, inclusive: true }, to: null };
  return { from: { value: midnight, inclusive: true }, to: { value: next, inclusive: false } };
}

function window(
  is: 'inLast' | 'inNext' | 'anniversaryInNext',
  duration: RuleDuration,
  now: Date,
): [Date, Date] {
  return is === 'inLast' ? [before(now, duration), now] : [now, after(now, duration)];
}

/**
 * The days of the year, `MM-DD`, from today until the day on which the window ends, for anniversaries of any year. In
 * other than leap years, 28 February stands for 29 February. Null: all days.
 */
export function anniversaryDays(duration: RuleDuration, now: Date): readonly string[] | null {
  const last = dayOf(after(now, duration));
  const days = new Set<string>();
  for (let moment = now; dayOf(moment) <= last; moment = new Date(moment.getTime() + DAY_MS)) {
    const day = dayOf(moment).slice(5);
    days.add(day);
    if (dayOf(new Date(moment.getTime() + DAY_MS)).endsWith('03-01')) days.add('02-29');
    if (days.size === DAYS_OF_YEAR) return null;
  }
  return [...days];
}
