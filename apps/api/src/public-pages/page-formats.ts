import { datesOf, type Wording } from '#wording';

type Locale = Wording['locale'];

/** How pages write dates, in UTC, and numbers in one language. */
export interface PageFormats {
  readonly day: Intl.DateTimeFormat;
  readonly shortDay: Intl.DateTimeFormat;
  readonly moment: Intl.DateTimeFormat;
  readonly shortMoment: Intl.DateTimeFormat;
  readonly count: Intl.NumberFormat;
  readonly share: Intl.NumberFormat;
  readonly smallShare: Intl.NumberFormat;
  readonly list: Intl.ListFormat;
}

const made = new Map<Locale, PageFormats>();

/** Making them takes milliseconds: they are made once for each language. */
export function formatsOf({ locale }: Wording): PageFormats {
  const known = made.get(locale);
  if (known !== undefined) return known;
  const formats = formatsIn(locale);
  made.set(locale, formats);
  return formats;
}

function formatsIn(locale: Locale): PageFormats {
  const dates = datesOf(locale);
  // Beside UTC, a clock of 24 hours is read without “AM”, which some languages would have in Latin letters.
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: 'UTC' } as const;
  return {
    day: new Intl.DateTimeFormat(dates, { dateStyle: 'long', timeZone: 'UTC' }),
    shortDay: new Intl.DateTimeFormat(dates, { dateStyle: 'medium', timeZone: 'UTC' }),
    moment: new Intl.DateTimeFormat(dates, {
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      timeZoneName: 'short',
      ...clock,
    }),
    shortMoment: new Intl.DateTimeFormat(dates, { day: 'numeric', month: 'short', ...clock }),
    count: new Intl.NumberFormat(locale),
    share: new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 }),
    smallShare: new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 2 }),
    list: new Intl.ListFormat(locale, { type: 'conjunction' }),
  };
}
