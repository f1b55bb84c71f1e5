import { LRUCache } from 'lru-cache';

/** Languages of the texts that readers get from us: opt-in mails, footers, pages. */
export const SHIPPED_LOCALES = [
  'en',
  'de',
  'fr',
  'es',
  'it',
  'pt-BR',
  'pt-PT',
  'nl',
  'pl',
  'cs',
  'sk',
  'hu',
  'ro',
  'bg',
  'el',
  'hr',
  'sv',
  'da',
  'nb',
  'fi',
  'uk',
  'tr',
  'ar',
  'he',
  'ja',
  'ko',
  'zh',
  'zh-Hant',
] as const;

export const LOCALE_FAULT = 'must be a BCP 47 language tag, such as de or pt-BR';
export const TIME_ZONE_FAULT = 'must be an IANA time zone, such as Europe/Berlin';

/** BCP 47 sets no bound; none that is in use is longer. */
const MAX_LOCALE_LENGTH = 35;
const MAX_ZONE_LENGTH = 64;
const languageNames = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
/** Names of the IANA time zone database, not offsets such as +02:00, which know no summer time. */
const ZONE_NAME = /^[A-Z][\w+-]*(\/[A-Z][\w+-]*)*$/i;
/** ICU's own names, not of IANA: `BST` is Bangladesh there and Britain in PostgreSQL, which does not know most of them. */
const ICU_NAME =
  /^(?:A[CEGRS]T|B[ES]T|C[ANST]T|E[AC]T|I[ES]T|JST|MIT|N[ES]T|P[LNRS]T|SST|VST|SystemV\/.*|US\/Pacific-New|Canada\/East-Saskatchewan)$/i;
/** ICU takes 5 to 60 µs for each, and an import asks for the same few in each of its rows. */
const locales = new LRUCache<string, { readonly locale: string | null }>({
  max: 1_000,
  memoMethod: (text) => ({ locale: readLocale(text) }),
});
const timeZones = new LRUCache<string, boolean>({ max: 1_000, memoMethod: isKnownZone });
/** Norwegian is written as Bokmål unless a reader's translation says otherwise. */
const NORWEGIAN = ['nb', 'no', 'nn'];

/** The end of a POSIX locale: `de_DE.UTF-8`, `de_DE@euro`. */
const POSIX_SUFFIX = /[.@].*$/s;

/** A BCP 47 tag as it is usually written (`de-AT`, `zh-Hant`); null when it is none or its language is unknown. */
export function parseLocale(text: string): string | null {
  return text.length > MAX_LOCALE_LENGTH ? null : locales.memo(text).locale;
}

/** The same in a file, whose program may write locales as POSIX and Java do: `de_AT`, `pt_BR.UTF-8`. */
export function parseFileLocale(text: string): string | null {
  return parseLocale(text.replace(POSIX_SUFFIX, '').replaceAll('_', '-'));
}

function readLocale(text: string): string | null {
  try {
    const locale = new Intl.Locale(text.trim());
    return languageNames.of(locale.language) === undefined ? null : locale.toString();
  } catch {
    return null;
  }
}

/** True for the name of a time zone, such as `Europe/Berlin`. */
export function isTimeZone(text: string): boolean {
  return text.length <= MAX_ZONE_LENGTH && timeZones.memo(text);
}

function isKnownZone(text: string): boolean {
  if (!ZONE_NAME.test(text) || ICU_NAME.test(text)) return false;
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

/** Languages with two of ours, told apart by likely subtags (CLDR): `pt` is Brazil's, `pt-AO` Portugal's, `zh-TW` Traditional. */
const SEVERAL_OF_OURS = /^(?:pt|zh)(?:-|$)/;

/** The first of `wanted` that is shipped; none is cut to what its reader would not read. */
export function shippedLocale(wanted: readonly (string | null)[]): (typeof SHIPPED_LOCALES)[number] | null {
  for (const locale of wanted) {
    const ours = locale === null ? null : oursFor(locale);
    if (ours !== null) return ours;
  }
  return null;
}

function oursFor(locale: string): (typeof SHIPPED_LOCALES)[number] | null {
  if (!SEVERAL_OF_OURS.test(locale)) return matchLocale([locale], SHIPPED_LOCALES);
  const { language, script, region } = new Intl.Locale(locale).maximize();
  if (language === 'zh') return script === 'Hant' ? 'zh-Hant' : 'zh';
  return region === 'BR' ? 'pt-BR' : 'pt-PT';
}

/** The locale and those it is part of: `zh-Hant-TW`, `zh-Hant`, `zh`. */
function widerLocales(locale: string): readonly string[] {
  const parts = locale.split('-');
  const wider = parts.map((_, dropped) => parts.slice(0, parts.length - dropped).join('-'));
  const language = parts[0] ?? locale;
  return NORWEGIAN.includes(language) ? [...wider, ...NORWEGIAN] : wider;
}
