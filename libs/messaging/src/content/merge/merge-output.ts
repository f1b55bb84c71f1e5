import { escapeHtml } from '#kernel';
import { FIXED_SCHEME } from './merge-links.js';

/** Escaping of merge values in a part: for HTML, none, or for a header without control characters. */
export type MergeEscaping = 'html' | 'none' | 'header';

/** A merge value as text: lists are joined by ", ", nothing, objects and a quotient by 0 are empty. */
export function mergeText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (isNoNumber(value)) return '';
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return String(value);
  if (Array.isArray(value)) return value.map(mergeText).join(', ');
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString();
  return '';
}

/** True of what no text shows: an object, or a list with one. */
export const isStructured = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.some(isStructured)
    : typeof value === 'object' && value !== null && !(value instanceof Date);

/** True of a quotient by 0, which arithmetic goes on with: no filter makes a figure of it. */
export const isNoNumber = (value: unknown): boolean => typeof value === 'number' && !Number.isFinite(value);

// A Unicode noncharacter: where `newline_to_br` breaks a line. The break itself comes behind the escaping.
const LINE_BREAK = '\uFDD3';
const LINE_BREAKS = /\s*[\r\n\t\uFDD3]\s*/g;

// Control characters but C1, so C0 and DEL: what could end a header field (RFC 5322 §2.2).
const CONTROL = /[^\P{Cc}\u0080-\u009f]/gu;

/** The last step of every output tag; nothing in a template can switch it off. */
export const OUTPUT_ESCAPES: Readonly<Record<MergeEscaping, (value: unknown) => string>> = {
  html: (value) => escapeHtml(mergeText(value)).replaceAll(LINE_BREAK, '<br>'),
  none: (value) => mergeText(value).replaceAll(LINE_BREAK, '\n'),
  header: (value) => mergeText(value).replaceAll(LINE_BREAKS, ' ').replaceAll(CONTROL, ''),
};

/**
 * The value of an output tag that begins a link: an absolute http or https URL, mailto, tel, sms or whatsapp, else `#`, so that
 * a value can never bring a scheme of its own (`javascript:`, `data:`).
 */
export function linkValue(value: unknown): string {
  const url = mergeText(value).replaceAll(LINE_BREAK, '').trim();
  return FIXED_SCHEME.test(url) ? url : '#';
}

/** The filter that guards a value within CSS; put there by the sanitiser, not by authors. */
export const STYLE_FILTER = 'mailwright_style';

const COLOUR = /^(?:rgb|hsl)a?\([\d\s.,%/]+\)$/i;
const STYLE_WORD = /^[\p{L}\p{M}\p{N} #%.,+\-/_?=]*$/u;

/**
 * A value within a style: a colour, a length, a keyword, a name of a font or the end of a URL. Nothing where it holds what
 * could end its declaration, open a comment or call a function.
 */
function styleValue(value: unknown): string {
  const text = mergeText(value).trim();
  return COLOUR.test(text) || STYLE_WORD.test(text) ? text : '';
}

/** Filters that slots and Liquid share, so that both always give the same. */
export const SHARED_FILTERS: Readonly<Record<string, (value: unknown) => unknown>> = {
  upcase: (value) => mergeText(value).toUpperCase(),
  downcase: (value) => mergeText(value).toLowerCase(),
  capitalize: (value) => {
    const text = mergeText(value);
    return text.charAt(0).toUpperCase() + text.slice(1).toLowerCase();
  },
  strip: (value) => mergeText(value).trim(),
  newline_to_br: (value) => mergeText(value).replaceAll(/\r\n|\r|\n/g, LINE_BREAK),
  // Escaping belongs to the part, not to the author: asking for it again must not escape twice.
  escape: (value) => value,
  escape_once: (value) => value,
  [STYLE_FILTER]: styleValue,
};

/** Liquid's `default`: for nothing, false, an empty text, an empty list and a quotient by 0. */
export function orDefault(value: unknown, fallback: string | number): unknown {
  if (typeof value === 'string' || Array.isArray(value)) return value.length > 0 ? value : fallback;
  return value === undefined || value === null || value === false || isNoNumber(value) ? fallback : value;
}
