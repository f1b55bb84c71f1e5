import { type Context, filters } from 'liquidjs';
import { LRUCache } from 'lru-cache';
import { isDay } from '#kernel';

/** Formats in which a mail's reader reads dates and numbers. */
export interface ReaderFormats {
  /** BCP 47. */
  readonly locale: string;
  /** IANA. */
  readonly timeZone: string;
  /** Moment of `now`, in ISO 8601. */
  readonly now: string;
}

interface FilterCall {
  readonly context: Context;
}

type Filter = (this: FilterCall, value: unknown, ...args: unknown[]) => unknown;

/** Filters whose result depends on the reader. A value that is no date or number stays as it is. */
export const FORMAT_FILTERS: Readonly<Record<string, Filter>> = { date, number, money };

const DATE_FORMATS = new LRUCache<string, Intl.DateTimeFormat>({ max: 500 });
const NUMBER_FORMATS = new LRUCache<string, Intl.NumberFormat>({ max: 500 });
const CURRENCIES = new Set(Intl.supportedValuesOf('currency'));

/** A moment, or what clocks show somewhere without a zone, which is the same for everybody: then as if it were UTC. */
interface Moment {
  readonly at: Date;
  readonly hasZone: boolean;
}

const ZONED = /\d:\d{2}.*(?:Z|UTC?|GMT|[+-]\d{2}:?\d{2})\s*(?:\([^)]*\))?$/i;
const STYLES = ['full', 'long', 'medium', 'short'] as const;
/** Conversions of strftime; of those in the last group the language has words. */
const CONVERSION = /%([-_0^#:]+)?(\d+)?([EO])?(.)/gs;
/** Conversions that stand for others. */
const COMPOSED: Readonly<Record<string, string>> = {
  '%D': '%m/%d/%y',
  '%F': '%Y-%m-%d',
  '%R': '%H:%M',
  '%T': '%H:%M:%S',
};
const CONVERSIONS = /^[aAbBcCdeGhHIjklLmMNpPqsStnuUVwWxXyYzZ%]$/;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

function date(this: FilterCall, value: unknown, format?: unknown, zone?: unknown): unknown {
  const pattern = patternOf(format);
  const reader = readerOf(this);
  const moment = momentOf(value, reader.now);
  const offset = offsetAt(moment?.at ?? new Date(0), zone, reader.timeZone);
  if (moment === null) return value;
  const minutes = moment.hasZone ? offset : 0;
  const wall = new Date(moment.at.getTime() + minutes * MINUTE_MS);
  const style = STYLES.find((name) => name === pattern);
  if (style !== undefined) {
    const isOfDay = typeof value === 'string' && DAY.test(isoText(value));
    return formatted(reader.locale, wall, { dateStyle: style, ...(isOfDay ? {} : { timeStyle: 'short' }) });
  }
  const zoneName = () =>
    moment.hasZone && typeof zone !== 'number'
      ? partOf(reader.locale, moment.at, 'timeZoneName', {
          timeZone: typeof zone === 'string' ? zone : reader.timeZone,
          timeZoneName: 'short',
        })
      : null;
  const local = pattern.replaceAll(CONVERSION, (...found) => {
    const [whole, flags = '', width = '0', , code] = found as unknown as (string | undefined)[];
    const word = code === 'Z' ? zoneName() : wordOf(code, pattern, reader.locale, wall);
    if (word === null) return whole ?? '';
    this.context.memoryLimit.use(Number(width) + word.length);
    const cased = /[\^#]/.test(flags) ? word.toLocaleUpperCase(reader.locale) : word;
    return cased.padStart(Number(width)).replaceAll('%', '%%');
  });
  return strftime.call(this, moment.at, local, -minutes);
}

/** A pattern whose conversions all exist; throws for another. */
function patternOf(format: unknown = 'long'): string {
  const pattern = String(format).replaceAll(/%[%DFRT]/g, (composed) => COMPOSED[composed] ?? composed);
  for (const [conversion, , , , code = ''] of pattern.matchAll(CONVERSION))
    if (!CONVERSIONS.test(code)) throw new Error(`date: ${conversion} is no conversion of strftime`);
  return pattern;
}

/** Liquid's own filter, for all conversions without words. */
const strftime = filters['date'] as Filter;

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const LEADING_DAY = /^\d{4}-\d{2}-\d{2}(?!\d)/;
/** A day of ISO 8601 without hyphens: as seconds it would be one of 1970 to 1973. */
const BASIC_DAY = /^((?:19|20|21)\d{2})(\d{2})(\d{2})$/;
/** Beyond the year 5138 a number is of milliseconds, as programs count them, too. */
const MOST_SECONDS = 99_999_999_999;

const isoText = (value: string): string => value.trim().replace(BASIC_DAY, '$1-$2-$3');

function momentOf(value: unknown, now: string): Moment | null {
  const text = typeof value === 'string' ? isoText(value) : value;
  if (text === 'now' || text === 'today') return soundMoment(new Date(now), true);
  if (text instanceof Date) return soundMoment(text, true);
  if (typeof text === 'number' || (typeof text === 'string' && /^\d+$/.test(text))) {
    const count = Number(text);
    return soundMoment(new Date(count > MOST_SECONDS ? count : count * 1_000), true);
  }
  if (typeof text !== 'string' || text === '') return null;
  const day = LEADING_DAY.exec(text)?.[0];
  if (day !== undefined && !isDay(day)) return null;
  if (ZONED.test(text)) return soundMoment(new Date(text), true);
  return soundMoment(new Date(DAY.test(text) ? text : `${text}Z`), false);
}

const soundMoment = (at: Date, hasZone: boolean): Moment | null =>
  Number.isNaN(at.getTime()) ? null : { at, hasZone };

/** Minutes east of UTC at a moment; as in Liquid a zone is a name, or minutes west of UTC. */
function offsetAt(at: Date, zone: unknown, ofReader: string): number {
  if (typeof zone === 'number') return -zone;
  const timeZone = typeof zone === 'string' ? zone : ofReader;
  const name = partOf('en', at, 'timeZoneName', { timeZone, timeZoneName: 'longOffset' });
  const [, sign, hours, minutes] = /GMT([+-])(\d{2}):(\d{2})/.exec(name) ?? [];
  return (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * (sign === '-' ? -1 : 1);
}

/** Words of a conversion of strftime; null for those that give digits. */
function wordOf(code: string | undefined, pattern: string, locale: string, wall: Date): string | null {
  switch (code) {
    case 'a':
      return formatted(locale, wall, { weekday: 'short' });
    case 'A':
      return formatted(locale, wall, { weekday: 'long' });
    case 'b':
    case 'h':
      return monthName(pattern, locale, wall, 'short');
    case 'B':
      return monthName(pattern, locale, wall, 'long');
    case 'p':
      return partOf(locale, wall, 'dayPeriod', { hour: 'numeric', hour12: true }).toLocaleUpperCase(locale);
    case 'P':
      return partOf(locale, wall, 'dayPeriod', { hour: 'numeric', hour12: true }).toLocaleLowerCase(locale);
    case 'c':
      return formatted(locale, wall, { dateStyle: 'medium', timeStyle: 'short' });
    case 'x':
      return formatted(locale, wall, { dateStyle: 'short' });
    case 'G':
      return String(thursdayOf(wall).getUTCFullYear());
    case 'V':
      return String(weekOf(thursdayOf(wall))).padStart(2, '0');
    case 'X':
      return formatted(locale, wall, { timeStyle: 'medium' });
    default:
      return null;
  }
}

/** The Thursday of the week, whose year has the week by ISO 8601. */
const thursdayOf = (wall: Date): Date => new Date(wall.getTime() + (4 - (wall.getUTCDay() || 7)) * DAY_MS);

const weekOf = (thursday: Date): number =>
  1 + Math.floor((thursday.getTime() - Date.UTC(thursday.getUTCFullYear(), 0, 1)) / (7 * DAY_MS));

/** Beside a day many languages say a month in another case: `27 listopada`, but `listopad 2026`. */
function monthName(pattern: string, locale: string, wall: Date, month: 'short' | 'long'): string {
  if (/%[-_0^#]*\d*[de]/.test(pattern)) {
    const name = partOf(locale, wall, 'month', { day: 'numeric', month });
    if (/\p{L}/u.test(name)) return name;
  }
  return formatted(locale, wall, { month });
}

const formatted = (locale: string, wall: Date, options: Intl.DateTimeFormatOptions): string =>
  dateFormat(locale, options).format(wall);

function partOf(
  locale: string,
  at: Date,
  type: Intl.DateTimeFormatPartTypes,
  options: Intl.DateTimeFormatOptions,
): string {
  const parts = dateFormat(locale, options).formatToParts(at);
  return parts.find((part) => part.type === type)?.value ?? '';
}

/** Format in the calendar that strftime counts in. */
function dateFormat(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${locale} ${JSON.stringify(options)}`;
  const known = DATE_FORMATS.get(key);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', calendar: 'gregory', ...options });
  DATE_FORMATS.set(key, format);
  return format;
}

/** `number`: as many decimal places as the value has; `number: 2`: so many. */
function number(this: FilterCall, value: unknown, places?: unknown): unknown {
  if (places !== undefined && !(Number.isInteger(places) && Number(places) >= 0 && Number(places) <= 20))
    throw new Error('number: decimal places must be an integer from 0 to 20');
  return numeral(this, value, {
    minimumFractionDigits: Number(places ?? 0),
    maximumFractionDigits: Number(places ?? 20),
  });
}

/** `money: "EUR"`: an amount in whole units of a currency (ISO 4217). */
function money(this: FilterCall, value: unknown, ...codes: unknown[]): unknown {
  const [code] = codes;
  // A code that comes from a value may be missing with its amount.
  if (codes.length > 0 && isNothing(code) && isNothing(value)) return value;
  const currency = typeof code === 'string' ? code.toUpperCase() : '';
  if (!CURRENCIES.has(currency))
    throw new Error('money: must name a currency of ISO 4217, as in money: "EUR"');
  return numeral(this, value, { style: 'currency', currency });
}

const isNothing = (value: unknown): boolean => value === undefined || value === null || value === '';

function numeral(filter: FilterCall, value: unknown, options: Intl.NumberFormatOptions): unknown {
  const amount = decimalOf(value);
  if (amount === null) return value;
  const { locale } = readerOf(filter);
  const key = `${locale} ${JSON.stringify(options)}`;
  const format = NUMBER_FORMATS.get(key) ?? new Intl.NumberFormat(locale, options);
  NUMBER_FORMATS.set(key, format);
  const text = format.format(amount);
  filter.context.memoryLimit.use(text.length);
  return text;
}

/** Text stays text, which a number of JavaScript could not hold to the last digit. */
function decimalOf(value: unknown): number | Intl.StringNumericLiteral | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  const text = typeof value === 'string' ? value.trim() : '';
  return /^-?\d{1,40}(?:\.\d{1,40})?$/.test(text) ? (text as `${number}`) : null;
}

/** Taken from the mail's values, not the template's, which could give the name to something else. */
function readerOf({ context }: FilterCall): ReaderFormats {
  const { reader } = context.environments as { readonly reader?: ReaderFormats };
  return reader ?? { locale: 'en', timeZone: 'UTC', now: new Date().toISOString() };
}
