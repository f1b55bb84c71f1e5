import type { DelayUntil } from '../graph/delay-until.js';

const DAY_MS = 86_400_000;
/** Every day of the week comes within so many days, even where one was skipped (Samoa, 30 December 2011). */
const DAYS_AHEAD = 15;

/** A date and time of day without a time zone, as milliseconds as if it were UTC. */
type WallTime = number;

const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * The first moment at or after `from` at which it is this time in the time zone, on one of the days. A time that clocks
 * skip is taken as if they had not been put forward yet (02:30 is 03:30 then); of a time that comes twice the first
 * counts (RFC 5545 §3.3.5).
 */
export function nextLocalTime({ hour, minute, timezone, daysOfWeek }: DelayUntil, from: Date): Date {
  const today = Math.floor(wallTime(timezone, from.getTime()) / DAY_MS) * DAY_MS;
  for (let ahead = 0; ahead < DAYS_AHEAD; ahead += 1) {
    const day = today + ahead * DAY_MS;
    if (!daysOfWeek.has(dayOfWeek(day))) continue;
    const moment = momentOf(timezone, day + (hour * 60 + minute) * 60_000);
    if (moment >= from.getTime()) return new Date(moment);
  }
  throw new Error('No day of the week is meant.');
}

/** ISO 8601: Monday is 1. */
function dayOfWeek(day: WallTime): number {
  return new Date(day).getUTCDay() || 7;
}

function momentOf(timezone: string, wall: WallTime): number {
  const [before, after] = [wall - DAY_MS, wall + DAY_MS].map((moment) => wallTime(timezone, moment) - moment);
  const candidates = [wall - before!, wall - after!].sort((a, b) => a - b);
  // Clocks skip the time: the offset from before the gap leads behind it.
  return candidates.find((moment) => wallTime(timezone, moment) === wall) ?? wall - before!;
}

function wallTime(timezone: string, moment: number): WallTime {
  const whole = Math.floor(moment / 1_000) * 1_000;
  const parts = Object.fromEntries(
    formatOf(timezone)
      .formatToParts(whole)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (moment - whole);
}

function formatOf(timezone: string): Intl.DateTimeFormat {
  const known = formats.get(timezone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-u-ca-iso8601', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formats.set(timezone, format);
  return format;
}
