import type { ParsedValue } from './custom-field.js';

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
