import { z } from 'zod';

/** C0, DEL and C1 (ECMA-48): in a header or a subject they would inject another line. */
const CONTROL = /\p{Cc}/u;
const CONTROL_BUT_LAYOUT = /[^\P{Cc}\t\n\r]/u;

function text(max: number, refused: RegExp) {
  return z
    .string()
    .meta({ maxLength: max })
    .refine((value) => lengthOf(value) <= max, `must be at most ${max} characters`)
    .refine((value) => !refused.test(value), 'must not contain control characters')
    .refine((value) => value.isWellFormed(), 'is not valid Unicode');
}

/** Text on one line, of at most `max` characters. */
export function line(max: number) {
  return text(max, CONTROL);
}

/** Text on one line with more than spaces. */
export function requiredLine(max: number) {
  return line(max)
    .refine((value) => value.trim() !== '', 'must not be empty')
    .meta({ minLength: 1, maxLength: max });
}

/** Text that may have tabs and line breaks, of at most `max` characters. */
export function prose(max: number) {
  return text(max, CONTROL_BUT_LAYOUT);
}

/** Counted as JSON Schema does: Unicode code points. */
function lengthOf(value: string): number {
  return value.length - (value.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}
