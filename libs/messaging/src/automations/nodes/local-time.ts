import { momentOfWallTime, type WallTime, wallTime } from '#kernel';
import type { DelayUntil } from '../graph/delay-until.js';

const DAY_MS = 86_400_000;
/** Every day of the week comes within so many days, even where one was skipped (Samoa, 30 December 2011). */
const DAYS_AHEAD = 15;

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
  throw new Error('No day of the week is meant.');
}

/** ISO 8601: Monday is 1. */
function dayOfWeek(day: WallTime): number {
  return new Date(day).getUTCDay() || 7;
}
