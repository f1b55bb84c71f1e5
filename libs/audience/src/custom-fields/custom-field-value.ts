import { parseEmailAddress } from '#kernel';
import type {
  CustomFieldDefinition,
  CustomFieldType,
  CustomFieldValue,
  ParsedValue,
} from './custom-field.js';
import { parseDate, parseDateTime } from './custom-field-moments.js';
import { parseDecimal, parseNumber } from './custom-field-numbers.js';

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
