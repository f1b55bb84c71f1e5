import { LRUCache } from 'lru-cache';

const DAY_MS = 86_400_000;
const LOCAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/;

/** A date and time of day without a time zone, as milliseconds as if it were UTC. */
export type WallTime = number;

const formats = new LRUCache<string, Intl.DateTimeFormat>({
  max: 1_000,
  memoMethod: (timeZone) =>
    new Intl.DateTimeFormat('en-u-ca-iso8601', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    }),
});

/** True of a day of the calendar, `0001-01-01` to `9999-12-31`. */
export function isDay(text: string): boolean {
  return /^(?!0000)\d{4}-\d\d-\d\d$/.test(text) && parseLocalTime(`${text}T00:00`) !== null;
}

/** A local time such as `2027-01-05T09:00`, seconds only where there are some; null when it is none. */
export function parseLocalTime(text: string): string | null {
  const wall = LOCAL_TIME.test(text) ? new Date(`${text}Z`) : null;
  // The 30th of February is taken for a day in March.
  if (wall === null || Number.isNaN(wall.getTime()) || !wall.toISOString().startsWith(text)) return null;
  return text.replace(/(:\d\d):00$/, '$1');
}

/**
 * The moment of a local time, as `parseLocalTime` returns it, in the time zone: the first of a time that comes twice; one that
 * clocks skip is taken as if they had not been put forward yet, 02:30 as 03:30 (RFC 5545 §3.3.5).
 */
export function momentOfLocalTime(local: string, timeZone: string): Date {
  return new Date(momentOfWallTime(Date.parse(`${local}Z`), timeZone));
}

/** The moment at which it is this local time first: in the Line Islands, at UTC+14. */
export function firstMomentOf(local: string): Date {
  return new Date(`${local}+14:00`);
}

/** The moment at which it is this local time last: at UTC−12. */
export function lastMomentOf(local: string): Date {
  return new Date(`${local}-12:00`);
}

/** Like `momentOfLocalTime`, in milliseconds. */
export function momentOfWallTime(wall: WallTime, timeZone: string): number {
  const [before, after] = [wall - DAY_MS, wall + DAY_MS].map((moment) => wallTime(moment, timeZone) - moment);
  const candidates = [wall - before!, wall - after!].sort((a, b) => a - b);
  // Clocks skip the time: the offset from before the gap leads behind it.
  return candidates.find((moment) => wallTime(moment, timeZone) === wall) ?? wall - before!;
}

/** The time that clocks in the time zone show at a moment. */
export function wallTime(moment: number, timeZone: string): WallTime {
  const whole = Math.floor(moment / 1_000) * 1_000;
  const parts = Object.fromEntries(
    formats
      .memo(timeZone)
      .formatToParts(whole)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (moment - whole);
}
