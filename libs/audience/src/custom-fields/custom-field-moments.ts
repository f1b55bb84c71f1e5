import type { ParsedValue } from './custom-field.js';

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
/** RFC 3339 §5.6 with optional seconds, as in ISO 8601. */
const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/** A day of the calendar, `0001-01-01` to `9999-12-31`. */
export function parseDate(input: unknown): ParsedValue {
  const text = typeof input === 'string' ? input.trim() : '';
  return isDay(text) ? { value: text } : { fault: 'must be a date such as 2026-11-21' };
}

/** A timestamp with its offset; stored in UTC with milliseconds. */
export function parseDateTime(input: unknown): ParsedValue {
  const text = typeof input === 'string' ? input.trim() : '';
  const day = DATE_TIME.exec(text)?.[1];
  const moment = day !== undefined && isDay(day) ? new Date(text.toUpperCase()).toISOString() : '';
  // Years of five or more digits, and years BC, would break the text order.
  if (/^\d{4}-/.test(moment) && !moment.startsWith('0000')) return { value: moment };
  return { fault: 'must be a date and time in ISO 8601 with a time zone' };
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const FEBRUARY = 2;

function isDay(text: string): boolean {
  const parts = DATE.exec(text);
  if (parts === null || parts[1] === '0000') return false;
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const last = month === FEBRUARY && isLeapYear ? 29 : (DAYS[month - 1] ?? 0);
  return day >= 1 && day <= last;
}
