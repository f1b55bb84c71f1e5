/** The languages in which readers get what we write: opt-in mails, footers, pages. */
export const SHIPPED_LOCALES = [
  ...['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'cs', 'sk', 'hu', 'ro', 'bg', 'el', 'hr'],
  ...['sv', 'da', 'nb', 'fi', 'uk', 'tr', 'ar', 'he', 'ja', 'ko', 'zh'],
] as const;

/** BCP 47 sets no bound; none that is in use is longer. */
const MAX_LOCALE_LENGTH = 35;
const languageNames = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
/** Names of the IANA time zone database, not offsets such as +02:00, which know no summer time. */
const ZONE_NAME = /^[A-Z][\w+-]*(\/[A-Z][\w+-]*)*$/i;
/** Norwegian is written as Bokmål unless a reader's translation says otherwise. */
const NORWEGIAN = ['nb', 'no', 'nn'];

/** A BCP 47 tag as it is usually written (`de-AT`, `zh-Hant`); null when it is none or its language is unknown. */
export function parseLocale(text: string): string | null {
  if (text.length > MAX_LOCALE_LENGTH) return null;
  try {
    const locale = new Intl.Locale(text.trim());
    return languageNames.of(locale.language) === undefined ? null : locale.toString();
  } catch {
    return null;
  }
}

/** Whether it is the name of a time zone, such as `Europe/Berlin`. */
export function isTimeZone(text: string): boolean {
  if (!ZONE_NAME.test(text)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/**
 * The first of `available` that a reader understands, by RFC 4647 §3.4: each of `wanted` in turn, without its last subtags
 * (`de-AT`, then `de`). `wanted`, best first, and `available` are as `parseLocale` returns them; null is skipped.
 */
export function matchLocale<Available extends string>(
  wanted: readonly (string | null)[],
  available: readonly Available[],
): Available | null {
  const candidates = wanted.flatMap((locale) => (locale === null ? [] : widerLocales(locale)));
  return (
    candidates.map((locale) => available.find((one) => one === locale)).find((one) => one !== undefined) ??
    null
  );
}

/** The locale and those it is part of: `zh-Hant-TW`, `zh-Hant`, `zh`. */
function widerLocales(locale: string): readonly string[] {
  const parts = locale.split('-');
  const wider = parts.map((_, dropped) => parts.slice(0, parts.length - dropped).join('-'));
  const language = parts[0] ?? locale;
  return NORWEGIAN.includes(language) ? [...wider, ...NORWEGIAN] : wider;
}
