import { z } from 'zod';
import { parseLocalTime } from '#kernel';

/** The API writes years with four digits (RFC 3339 §1), so the year in UTC must have four too. */
function hasFourDigitYear(time: Date): boolean {
  return /^\d{4}-/.test(time.toISOString());
}

/** A point in time in a request: ISO 8601 with a time zone. */
export const moment = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .refine(hasFourDigitYear, 'must be between the years 0 and 9999');

/** A local time in a request: a date and time of day without an offset. */
export const localTime = z.string().transform((text, context) => {
  const local = parseLocalTime(text);
  if (local === null) context.addIssue('must be a local time such as 2027-01-05T09:00');
  return local ?? z.NEVER;
});
