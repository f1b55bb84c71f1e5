import { isDay, parseEmailAddress } from '#kernel';
import type {
  CustomFieldDefinition,
  CustomFieldType,
  CustomFieldValue,
  ParsedValue,
} from './custom-field.js';

type ValueParser = (input: unknown, definition: Pick<CustomFieldDefinition, 'options'>) => ParsedValue;

const MAX_TEXT = 255;
const MAX_LONG_TEXT = 10_000;
/** The length of a URL that browsers and mail programs support. */
const MAX_URL = 2_048;
/** Options that a message lists. */
const SHOWN_OPTIONS = 20;

/** C0, DEL and C1 (ECMA-48). */
const CONTROL = /\p{Cc}/u;
const CONTROL_BUT_LAYOUT = /[^\P{Cc}\t\n\r]/u;

/** ITU-T E.164 §6: a country code, which has no leading zero, and at most 15 digits in all. */
const E164 = /^\+[1-9]\d{6,14}$/;
/** ITU-T E.123 §7: the separators that people write between digits. */
const PHONE_LAYOUT = /[\s().\-/\u2010-\u2015]/gu;

const PARSERS: Readonly<Record<CustomFieldType, ValueParser>> = {
  TEXT: (input) => parseText(input, MAX_TEXT, CONTROL),
  LONG_TEXT: (input) => parseText(input, MAX_LONG_TEXT, CONTROL_BUT_LAYOUT),
  NUMBER: parseNumber,
  DECIMAL: parseDecimal,
  BOOLEAN: parseBoolean,
  DATE: parseDate,
  DATETIME: parseDateTime,
  EMAIL: parseEmail,
  URL: parseUrl,
  PHONE: parsePhone,
  SELECT: parseSelect,
  MULTI_SELECT: parseMultiSelect,
};

/**
 * Reads a value of the field from a string or the native JSON type; null, which clears, stays null. Returns an error
 * message when the value is not valid.
 */
export function parseCustomFieldValue(
  definition: Pick<CustomFieldDefinition, 'type' | 'options'>,
  input: unknown,
): { readonly value: CustomFieldValue | null } | { readonly fault: string } {
  return input === null ? { value: null } : PARSERS[definition.type](input, definition);
}

function parseText(input: unknown, max: number, refused: RegExp): ParsedValue {
  if (typeof input !== 'string') return { fault: 'must be a string' };
  if (!input.isWellFormed()) return { fault: 'is not valid Unicode' };
  // In code points, as JSON Schema counts.
  if (input.length > max && Array.from(input).length > max)
    return { fault: `must be at most ${max} characters` };
  return refused.test(input) ? { fault: 'must not contain control characters' } : { value: input };
}

function parseBoolean(input: unknown): ParsedValue {
  if (typeof input === 'boolean') return { value: input };
  const text = typeof input === 'string' ? input.trim().toLowerCase() : '';
  if (text === 'true' || text === 'false') return { value: text === 'true' };
  return { fault: 'must be true or false' };
}

function parseEmail(input: unknown): ParsedValue {
  if (typeof input !== 'string') return { fault: 'must be a string' };
  const parsed = parseEmailAddress(input);
  return 'fault' in parsed ? parsed : { value: parsed.address.value };
}

function parseUrl(input: unknown): ParsedValue {
  if (typeof input !== 'string') return { fault: 'must be a string' };
  const text = input.trim();
  if (text.length > MAX_URL) return { fault: `must be at most ${MAX_URL} characters` };
  // The WHATWG parser repairs text that is not a URL by RFC 3986: blanks, backslashes, a missing //.
  const isUrl =
    /^https?:\/\/[^\s\\]+$/i.test(text) && !CONTROL.test(text) && text.isWellFormed() && URL.canParse(text);
  return isUrl ? { value: text } : { fault: 'must be an http or https URL' };
}

function parsePhone(input: unknown): ParsedValue {
  if (typeof input !== 'string') return { fault: 'must be a string' };
  const digits = input.replaceAll('(0)', '').replaceAll(PHONE_LAYOUT, '').replace(/^00/, '+');
  return E164.test(digits)
    ? { value: digits }
    : { fault: 'must be an international phone number such as +4930123456' };
}

function parseSelect(input: unknown, { options }: Pick<CustomFieldDefinition, 'options'>): ParsedValue {
  if (typeof input !== 'string') return { fault: 'must be a string' };
  return options.some(({ value }) => value === input)
    ? { value: input }
    : { fault: `must be one of ${listed(options)}` };
}

function parseMultiSelect(input: unknown, { options }: Pick<CustomFieldDefinition, 'options'>): ParsedValue {
  const chosen = typeof input === 'string' ? splitChoice(input, options) : input;
  if (!Array.isArray(chosen) || !chosen.every((item) => typeof item === 'string')) {
    return { fault: 'must be a list of strings' };
  }
  const wanted = new Set<string>(chosen);
  const value = options.map((option) => option.value).filter((option) => wanted.has(option));
  return value.length === wanted.size
    ? { value }
    : { fault: `must only contain values of ${listed(options)}` };
}

/** A list as text: one option, a JSON array, or values separated by comma, semicolon or bar. */
function splitChoice(text: string, options: CustomFieldDefinition['options']): unknown {
  if (options.some(({ value }) => value === text)) return [text];
  const trimmed = text.trim();
  if (trimmed === '') return [];
  if (trimmed.startsWith('[')) {
    try {
      return JSON.parse(trimmed);
    } catch {
      return null;
    }
  }
  return trimmed.split(/[,;|]/).map((part) => part.trim());
}

function listed(options: CustomFieldDefinition['options']): string {
  const shown = options.slice(0, SHOWN_OPTIONS).map(({ value }) => value);
  return [...shown, ...(options.length > SHOWN_OPTIONS ? ['…'] : [])].join(', ');
}

/** IEEE 754 binary64, and so every JSON parser (RFC 8259 §6), keeps decimals with this many significant digits. */
const MAX_DIGITS = 15;
const BELOW = 10 ** MAX_DIGITS;

/** A whole number that JSON parsers keep: between ±(2^53 − 1). */
export function parseNumber(input: unknown): ParsedValue {
  const number = numberOf(input, /^[+-]?\d{1,400}$/);
  if (number === null || !Number.isInteger(number)) return { fault: 'must be an integer' };
  if (!Number.isSafeInteger(number))
    return { fault: 'must be between -9007199254740991 and 9007199254740991' };
  return { value: withoutSign(number) };
}

/** A decimal number that JSON parsers keep: at most 15 significant digits, at most 15 before the point. */
export function parseDecimal(input: unknown): ParsedValue {
  const number = numberOf(input, /^[+-]?\d{1,400}(?:\.\d{1,30})?$/);
  if (number === null) return { fault: 'must be a number' };
  const digits = significantDigits(typeof input === 'string' ? input.trim() : String(number));
  if (Math.abs(number) >= BELOW || digits > MAX_DIGITS) return { fault: 'must have at most 15 digits' };
  return { value: withoutSign(number) };
}

function numberOf(input: unknown, form: RegExp): number | null {
  if (typeof input === 'number') return Number.isFinite(input) ? input : null;
  const text = typeof input === 'string' ? input.trim() : '';
  return form.test(text) ? Number(text) : null;
}

/** The significant digits of `-0012.340` or `1e-7`: without leading zeros, trailing zeros and exponent. */
function significantDigits(text: string): number {
  const [mantissa = ''] = text.toLowerCase().split('e');
  return mantissa.replaceAll(/[^\d]/g, '').replace(/^0+/, '').replace(/0+$/, '').length;
}

/** Zero has one form in JSON. */
function withoutSign(number: number): number {
  return number === 0 ? 0 : number;
}

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
