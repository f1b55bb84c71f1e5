import Negotiator from 'negotiator';
import { z } from 'zod';
import { isTimeZone, LOCALE_FAULT, parseLocale, TIME_ZONE_FAULT } from '#kernel';

/** A language tag, which the output has as it is usually written. */
export const localeField = z
  .string()
  .meta({ description: 'A language by BCP 47, such as de or pt-BR.', example: 'de-AT' })
  .transform((input, context): string => {
    const locale = parseLocale(input);
    if (locale !== null) return locale;
    context.issues.push({ code: 'custom', message: LOCALE_FAULT, input });
    return z.NEVER;
  });

export const timeZoneField = z
  .string()
  .refine(isTimeZone, TIME_ZONE_FAULT)
  .meta({ description: 'A time zone by its IANA name.', example: 'Europe/Berlin' });

/** More than any browser sends. */
const MOST_LANGUAGES = 20;

/** The languages that an `Accept-Language` header asks for, best first; null stands for what is no language. */
export function acceptedLocales(header: string | undefined): (string | null)[] {
  const wanted = new Negotiator({ headers: { 'accept-language': header ?? '' } }).languages();
  return wanted.slice(0, MOST_LANGUAGES).map(parseLocale);
}

/**
 * Texts in other languages: locale → `text`; `what` and `who` gets it, for the document. The output has the locales as they are usually written; null is none.
 */
export function translations<Text extends z.ZodType>(text: Text, what: string, who = '') {
  return z
    .record(z.string(), text)
    .nullish()
    .meta({
      description:
        `${what} by locale (BCP 47), at most ${MAX_TRANSLATIONS}; PATCH replaces them all. ${who}`.trim(),
    })
    .transform((input, context) => {
      if (input === undefined) return undefined;
      const read: Record<string, z.output<Text>> = {};
      const fault = (message: string, ...path: string[]) =>
        context.issues.push({ code: 'custom', message, path, input });
      const entries = Object.entries(input ?? {});
      if (entries.length > MAX_TRANSLATIONS) fault(`must have at most ${MAX_TRANSLATIONS} languages`);
      for (const [tag, each] of entries) {
        const locale = parseLocale(tag);
        if (locale === null) fault(LOCALE_FAULT, tag);
        else if (locale in read) fault(`is ${locale} again`, tag);
        else read[locale] = each;
      }
      return read;
    });
}

const MAX_TRANSLATIONS = 50;
