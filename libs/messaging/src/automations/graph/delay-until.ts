import type { ConfigReader } from './config-reader.js';

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

export function readUntil(config: ConfigReader): DelayUntil | null {
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
