import { z } from 'zod';
import { parseLocale } from '#kernel';

const MOST = 30;
const LOCALE = 'must be a BCP 47 language tag such as de or pt-BR';

/** A language of a query or a body; it comes out as it is usually written: `pt-BR`. */
export const localeField = z
  .string()
  .transform((given, context) => {
    const locale = parseLocale(given);
    if (locale === null) context.addIssue({ code: 'custom', message: LOCALE });
    return locale ?? '';
  })
  .meta({ description: 'BCP 47.', example: 'pt-BR' });

/** An object by locale, whose keys come out as they are usually written. */
export function byLocale<Schema extends z.ZodType>(schema: Schema) {
  return z.record(z.string(), schema).transform((given, context) => {
    const locales = new Map<string, z.output<Schema>>();
    const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (Object.keys(given).length > MOST) refuse([], `must have at most ${MOST} locales`);
    for (const [key, value] of Object.entries(given)) {
      const locale = parseLocale(key);
      if (locale === null) refuse([key], LOCALE);
      else if (locales.has(locale)) refuse([key], `is the same as another one: ${locale}`);
      else locales.set(locale, value);
    }
    return Object.fromEntries(locales);
  });
}
