import { z } from 'zod';

/** The API writes years with four digits (RFC 3339 §1), so the year in UTC must have four too. */
function hasFourDigitYear(time: Date): boolean {
  return /^\d{4}-/.test(time.toISOString());
}

/** A point in time in a request: ISO 8601 with a time zone. */
export const moment = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .refine(hasFourDigitYear, 'must be between the years 0 and 9999');
