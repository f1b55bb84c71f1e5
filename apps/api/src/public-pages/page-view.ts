import type { FastifyRequest } from 'fastify';
import { parseLocale, shippedLocale } from '#kernel';
import { datesOf, Wording, type WordingKey } from '#wording';
import { acceptedLocales } from '../fields.js';
import { html, type Html } from '../html.js';

/** The sender of a page, named and coloured as in its mails. */
export interface PageSender {
  readonly name: string;
  readonly postalAddress: string;
  /** An e-mail address that answers, if it has one. */
  readonly contact?: string | null;
  /** The address that it names for questions about data; below each page. */
  readonly contactEmail?: string | null;
  /** https address of its privacy policy, if it has one. */
  readonly privacyUrl?: string | null;
  /** IANA, of readers whose own is not known. */
  readonly timeZone?: string;
  /** https; null where it has none. */
  readonly logoUrl: string | null;
  /** #rrggbb; null for ours. */
  readonly color: string | null;
}

/** Reader and sender of a page. */
export interface PageView {
  readonly wording: Wording;
  /** The reader's own name for the language of `wording`, such as `de-AT` for `de`. */
  readonly locale: string;
  /** null where the page must not reveal the sender. */
  readonly sender: PageSender | null;
}

export interface SenderView extends PageView {
  readonly sender: PageSender;
  /** Version of the project's own texts in `wording`; null where all are ours. */
  readonly version: number | null;
}

/** The query parameter by which a reader chooses a language. */
export const LANGUAGE_PARAMETER = 'lang';

/** Locale that the reader chose on the page before, or null. */
function chosenLocale({ query }: FastifyRequest): string | null {
  const chosen = (query as Readonly<Record<string, unknown>>)[LANGUAGE_PARAMETER];
  return typeof chosen === 'string' ? parseLocale(chosen) : null;
}

/** Locales that the reader asks for, best first: chosen on the page, `known` of them, of the browser. */
export function wantedLocales(request: FastifyRequest, known: readonly (string | null)[] = []) {
  return [chosenLocale(request), ...known, ...acceptedLocales(request.headers['accept-language'])];
}

/** View of a page without a sender: under a link that is nobody's, or a failure; or of a mail to a reader of a `known` locale. */
export function viewOf(request: FastifyRequest, known: readonly (string | null)[] = []): PageView {
  const wanted = wantedLocales(request, known);
  const wording = new Wording(shippedLocale(wanted) ?? 'en');
  return { wording, locale: nameOf(wording, wanted), sender: null };
}

/** The one of `wanted` that led to the language of `wording`. */
export function nameOf({ locale }: Wording, wanted: readonly (string | null)[]): string {
  return wanted.find((one) => shippedLocale([one]) === locale) ?? locale;
}

/** A message with its values, which are escaped unless they are HTML. */
export function say(
  { wording }: PageView,
  key: WordingKey,
  values: Readonly<Record<string, string | number | Html>> = {},
): Html {
  return html`${wording.parts<Html>(key, values)}`;
}

/** Tells who leaves everything which mail needs no consent. */
export function accountMail(view: SenderView): Html {
  return html`<p class="quiet">${say(view, 'page.accountMail')}</p>`;
}

export function senderName({ sender }: SenderView): Html {
  return html`<b><bdi>${sender.name}</bdi></b>`;
}

/** Links of the sender's footer about its readers' data: part of the words that a consent keeps. */
export function privacyLines({
  wording,
  sender: { privacyUrl = null, contactEmail = null },
}: SenderView): string[] {
  return [
    ...(privacyUrl === null ? [] : [wording.text('footer.privacyLink', { url: privacyUrl })]),
    ...(contactEmail === null ? [] : [wording.text('footer.contact', { contact: contactEmail })]),
  ];
}

/** The masked address, as its owner recognises it and nobody else can use it. */
export function addressOf(email: string): Html {
  return html`<b><bdi dir="ltr">${maskedAddress(email)}</bdi></b>`;
}

const characters = new Intl.Segmenter('en');

/**
 * Masks an address so that its owner recognises it and nobody else can use it: `jane@example.org` →
 * `j•••@example.org`. A local part of one character is hidden completely.
 */
export function maskedAddress(address: string): string {
  const at = address.lastIndexOf('@');
  const [first = '', ...rest] = Array.from(
    characters.segment(address.slice(0, at)),
    ({ segment }) => segment,
  );
  return `${rest.length > 0 ? first : ''}•••${address.slice(at)}`;
}

type Locale = Wording['locale'];

/** Formats of dates, in UTC, and numbers in one language. */
interface PageFormats {
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

/** `12,345` */
export function countText(count: number, wording: Wording): string {
  return formatsOf(wording).count.format(count);
}

/** `24.3%`, with one more decimal below one percent; a dash for a part of nothing. */
export function shareText(part: number, whole: number, wording: Wording): string {
  if (whole <= 0) return '–';
  const share = Math.min(1, part / whole);
  const { share: usual, smallShare } = formatsOf(wording);
  return (share < 0.01 ? smallShare : usual).format(share);
}

/** `1 Mar 2026` for a day, `1 Mar, 09:00` else, in UTC. */
export function momentText(
  at: Date | undefined,
  interval: 'minute' | 'hour' | 'day',
  wording: Wording,
): string {
  if (at === undefined) return '';
  const { shortDay, shortMoment } = formatsOf(wording);
  return (interval === 'day' ? shortDay : shortMoment).format(at);
}

/** `1 Mar 2026, 09:00 UTC` */
export function dateText(at: Date, wording: Wording): string {
  return formatsOf(wording).moment.format(at);
}
