import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IntlMessageFormat, type PrimitiveType } from 'intl-messageformat';
import { LRUCache } from 'lru-cache';
import type { SHIPPED_LOCALES } from '#kernel';
import { projectRoot } from '#platform';
import type english from '../../../locales/en.json';

/** The messages of a language by key: ICU MessageFormat, as in locales/en.json, which says which keys there are. */
export type Catalogue = Readonly<Record<WordingKey, string>>;
export type WordingKey = keyof typeof english;
export type ShippedLocale = (typeof SHIPPED_LOCALES)[number];

const catalogues = new LRUCache<ShippedLocale, Catalogue>({
  max: 100,
  memoMethod: (locale) =>
    JSON.parse(readFileSync(join(projectRoot(), 'locales', `${locale}.json`), 'utf8')) as Catalogue,
});

/** The texts of locales/<locale>.json, read once a process. */
export const catalogueOf = (locale: ShippedLocale): Catalogue => catalogues.memo(locale);

/** All keys, in the order of locales/en.json. */
export const wordingKeys = (): readonly WordingKey[] => Object.keys(catalogueOf('en')) as WordingKey[];

/** A project's own messages in place of ours. */
export type WordingOverrides = Readonly<Partial<Record<WordingKey, string>>>;

const RIGHT_TO_LEFT: ReadonlySet<ShippedLocale> = new Set(['ar', 'he']);

type Values = Readonly<Record<string, PrimitiveType>>;

/** Formats by locale and options, which are expensive to make. */
const DATE_FORMATS = new LRUCache<string, Intl.DateTimeFormat>({
  max: 500,
  memoMethod: (key) => new Intl.DateTimeFormat(...(JSON.parse(key) as [string, Intl.DateTimeFormatOptions])),
});

/** Locale of dates: most readers of English write the day before the month. */
export const datesOf = (locale: ShippedLocale): string => (locale === 'en' ? 'en-GB' : locale);

/** The texts for a reader, in one language. */
export class Wording {
  readonly locale: ShippedLocale;
  readonly direction: 'ltr' | 'rtl';
  readonly #own: WordingOverrides;
  readonly #messages: Readonly<Record<WordingKey, string>>;
  readonly #compiled = new Map<WordingKey, IntlMessageFormat>();

  constructor(
    locale: ShippedLocale,
    readonly overrides: WordingOverrides = {},
  ) {
    this.locale = locale;
    this.direction = RIGHT_TO_LEFT.has(locale) ? 'rtl' : 'ltr';
    this.#own = overrides;
    this.#messages = { ...catalogueOf(locale), ...overrides };
  }

  /** True where the project has words of its own. */
  isOwn(key: WordingKey): boolean {
    return this.#own[key] !== undefined;
  }

  /** The day that it is at `at` in an IANA zone: `27 November 2026`. */
  day(at: Date, timeZone: string): string {
    return this.#written(at, { dateStyle: 'long', timeZone });
  }

  /** The day, hour and zone, by a clock of 24 hours: `27 November 2026 at 14:05 CET`. */
  dayAndHour(at: Date, timeZone: string): string {
    const day = { day: 'numeric', month: 'long', year: 'numeric', timeZone } as const;
    const hour = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short' } as const;
    return this.#written(at, { ...day, ...hour });
  }

  #written(at: Date, options: Intl.DateTimeFormatOptions): string {
    const text = DATE_FORMATS.memo(JSON.stringify([datesOf(this.locale), options])).format(at);
    // CLDR has no ordinal for the first of a month.
    return this.locale === 'fr' ? text.replace(/^1(?=\s)/, '1er') : text;
  }

  /** The message with its values; nothing in it is escaped. */
  text(key: WordingKey, values: Values = {}): string {
    return String(this.#message(key).format({ ...values }));
  }

  /** The message taken apart at its values, which may be objects such as HTML: texts of ours and values in order. */
  parts<Value extends object>(
    key: WordingKey,
    values: Readonly<Record<string, PrimitiveType | Value>>,
  ): readonly (string | Value)[] {
    return [this.#message(key).format<Value>({ ...values })].flat() as (string | Value)[];
  }

  #message(key: WordingKey): IntlMessageFormat {
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    const message = new IntlMessageFormat(this.#messages[key], this.locale);
    this.#compiled.set(key, message);
    return message;
  }
}
