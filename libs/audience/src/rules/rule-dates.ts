import type { DateTest, DayOrMoment, RuleDuration } from './rule.js';

const MAX_DAYS = 730;
const DAY_MS = 86_400_000;
/** ISO 8601-1 §5.5.2.3, whole numbers, with weeks beside the other units. */
const DURATION =
  /^P(?=\d|T\d)(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?=\d)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?$/;
const DAYS_OF_YEAR = 366;

/** Reads `P30D`, `P1Y2M`, `PT12H`; at most P730D, with a year of 365 days and a month of 30. */
export function parseDuration(
  text: string,
): { readonly duration: RuleDuration } | { readonly fault: string } {
  const parts = DURATION.exec(text);
  if (parts === null) return { fault: 'must be an ISO 8601 duration such as P30D' };
  const [years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = parts
    .slice(1)
    .map((part) => Number(part ?? 0));
  const milliseconds = ((hours * 60 + minutes) * 60 + seconds) * 1_000;
  const total = years * 365 + months * 30 + weeks * 7 + days + milliseconds / DAY_MS;
  if (total > MAX_DAYS) return { fault: `must be at most P${MAX_DAYS}D` };
  if (total === 0) return { fault: 'must be longer than zero' };
  return { duration: { months: years * 12 + months, days: weeks * 7 + days, milliseconds } };
}

/** Subtracts a duration, in UTC. */
export function before(moment: Date, duration: RuleDuration): Date {
  return shifted(moment, duration, -1);
}

/** Adds a duration, in UTC. */
export function after(moment: Date, duration: RuleDuration): Date {
  return shifted(moment, duration, 1);
}

/** Adds months first, clamped to the last day of the month (31 March less a month: 28 February), then the rest. */
function shifted(moment: Date, { months, days, milliseconds }: RuleDuration, sign: 1 | -1): Date {
  const result = new Date(moment);
  const day = result.getUTCDate();
  result.setUTCDate(1);
  result.setUTCMonth(result.getUTCMonth() + sign * months);
  result.setUTCDate(Math.min(day, daysInMonth(result)));
  return new Date(result.getTime() + sign * (days * DAY_MS + milliseconds));
}

function daysInMonth(moment: Date): number {
  return new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth() + 1, 0)).getUTCDate();
}

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
