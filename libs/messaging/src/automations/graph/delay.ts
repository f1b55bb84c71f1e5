import { durationAfter, parseDuration, type RuleDuration } from '#audience';
import { momentOfWallTime, type WallTime, wallTime } from '#kernel';
import type { ConfigReader } from './config-reader.js';

export type DelayConfig = { readonly duration: RuleDuration } | { readonly until: DelayUntil };

/** The next moment at which it is this time of day in a time zone. */
export interface DelayUntil {
  readonly hour: number;
  readonly minute: number;
  /** An IANA name: `Europe/Berlin`. */
  readonly timezone: string;
  /** ISO 8601: Monday is 1, Sunday is 7. */
  readonly daysOfWeek: ReadonlySet<number>;
}

const TIME = /^([01]\d|2[0-3]):([0-5]\d)$/;
const DAY_NAMES = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'];
const ALL_DAYS: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 6, 7]);
const DAY_MS = 86_400_000;
/** Every day of the week comes within so many days, even where one was skipped (Samoa, 30 December 2011). */
const DAYS_AHEAD = 15;

export function readDelay(config: ConfigReader): DelayConfig | null {
  if (config.has('duration') && config.has('until'))
    return config.fault('until', 'must be left out beside duration');
  if (config.has('until')) {
    const until = readUntil(config);
    return until === null ? null : { until };
  }
  const text = config.required('duration', { max: 100 });
  if (text === null) return null;
  const parsed = parseDuration(text);
  return 'fault' in parsed ? config.fault('duration', parsed.fault) : parsed;
}

function readUntil(config: ConfigReader): DelayUntil | null {
  const until = config.inner('until', ['time', 'timezone', 'daysOfWeek']);
  if (until === null) return null;
  const time = readTime(until);
  const timezone = until.required('timezone', { max: 100 });
  const daysOfWeek = readDays(until);
  if (timezone !== null && !isTimezone(timezone))
    return until.fault('timezone', 'must be an IANA time zone such as Europe/Berlin');
  return time === null || timezone === null || daysOfWeek === null ? null : { ...time, timezone, daysOfWeek };
}

function readTime(until: ConfigReader): Pick<DelayUntil, 'hour' | 'minute'> | null {
  const text = until.required('time', { max: 20 });
  if (text === null) return null;
  const [, hour, minute] = TIME.exec(text) ?? [];
  if (hour === undefined || minute === undefined)
    return until.fault('time', 'must be a time of day such as 09:00');
  return { hour: Number(hour), minute: Number(minute) };
}

function readDays(until: ConfigReader): ReadonlySet<number> | null {
  const value = until.value('daysOfWeek');
  if (value === null) return ALL_DAYS;
  if (!Array.isArray(value) || value.length === 0)
    return until.fault('daysOfWeek', 'must be a list of at least one day');
  const days = value.map((day: unknown) => (typeof day === 'string' ? DAY_NAMES.indexOf(day) + 1 : day));
  for (const [index, day] of days.entries()) {
    if (typeof day !== 'number' || !ALL_DAYS.has(day))
      until.fault(
        `daysOfWeek[${index}]`,
        'must be 1 (Monday) to 7, or one of MON, TUE, WED, THU, FRI, SAT, SUN',
      );
  }
  return new Set(days.filter((day) => typeof day === 'number'));
}

function isTimezone(name: string): boolean {
  // Offsets such as +02:00 have no summer time and are not time zones.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The moment at which a run that comes to the delay now leaves it. */
export function delayEnd(config: DelayConfig, now: Date): Date {
  return 'until' in config ? nextLocalTime(config.until, now) : durationAfter(now, config.duration);
}

/** The detail of the logged step. */
export function delayDetail(until: Date): string {
  return `until ${until.toISOString()}`;
}

/**
 * The first moment at or after `from` at which it is this time in the time zone, on one of the days. A time that clocks
 * skip is taken as if they had not been put forward yet (02:30 is 03:30 then); of a time that comes twice the first
 * counts (RFC 5545 §3.3.5).
 */
export function nextLocalTime({ hour, minute, timezone, daysOfWeek }: DelayUntil, from: Date): Date {
  const today = Math.floor(wallTime(from.getTime(), timezone) / DAY_MS) * DAY_MS;
  for (let ahead = 0; ahead < DAYS_AHEAD; ahead += 1) {
    const day = today + ahead * DAY_MS;
    if (!daysOfWeek.has(dayOfWeek(day))) continue;
    const moment = momentOfWallTime(day + (hour * 60 + minute) * 60_000, timezone);
    if (moment >= from.getTime()) return new Date(moment);
  }
  throw new Error('daysOfWeek must not be empty.');
}

/** ISO 8601: Monday is 1. */
function dayOfWeek(day: WallTime): number {
  return new Date(day).getUTCDay() || 7;
}
