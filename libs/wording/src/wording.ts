import { IntlMessageFormat, type PrimitiveType } from 'intl-messageformat';
import { type ShippedLocale, type WordingKey, catalogueOf } from './catalogue.js';

/** A project's own messages in place of ours. */
export type WordingOverrides = Readonly<Partial<Record<WordingKey, string>>>;

const RIGHT_TO_LEFT: ReadonlySet<ShippedLocale> = new Set(['ar', 'he']);

type Values = Readonly<Record<string, PrimitiveType>>;

/** What we say to a reader, in one language. */
export class Wording {
  readonly locale: ShippedLocale;
  readonly direction: 'ltr' | 'rtl';
  readonly #messages: Readonly<Record<WordingKey, string>>;
  readonly #compiled = new Map<WordingKey, IntlMessageFormat>();

  constructor(
    locale: ShippedLocale,
    readonly overrides: WordingOverrides = {},
  ) {
    this.locale = locale;
    this.direction = RIGHT_TO_LEFT.has(locale) ? 'rtl' : 'ltr';
    this.#messages = { ...catalogueOf(locale), ...overrides };
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
