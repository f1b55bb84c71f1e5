import type { FastifyRequest } from 'fastify';
import { parseLocale, shippedLocale } from '#kernel';
import { Wording, type WordingKey } from '#wording';
import { acceptedLocales } from '../fields.js';
import { html, type Html } from '../html.js';
import { maskedAddress } from './masked-address.js';

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

/** For whom a page is written, and on whose behalf. */
export interface PageView {
  readonly wording: Wording;
  /** The reader's own name for the language of `wording`, such as `de-AT` for `de`. */
  readonly locale: string;
  /** null where the page must not reveal the sender. */
  readonly sender: PageSender | null;
}

export interface SenderView extends PageView {
  readonly sender: PageSender;
  /** Of the project's own texts in `wording`; null where all are ours. */
  readonly version: number | null;
}

/** The query parameter by which a reader chooses a language. */
export const LANGUAGE_PARAMETER = 'lang';

/** What the reader chose on the page before, or null. */
function chosenLocale({ query }: FastifyRequest): string | null {
  const chosen = (query as Readonly<Record<string, unknown>>)[LANGUAGE_PARAMETER];
  return typeof chosen === 'string' ? parseLocale(chosen) : null;
}

/** What the reader asks for, best first: the language chosen on the page, those `known` of them, those of the browser. */
export function wantedLocales(request: FastifyRequest, known: readonly (string | null)[] = []) {
  return [chosenLocale(request), ...known, ...acceptedLocales(request.headers['accept-language'])];
}

/** For a page that has no sender: under a link that is nobody's, or a failure; or for a mail, whose reader's locale is `known`. */
export function viewOf(request: FastifyRequest, known: readonly (string | null)[] = []): PageView {
  const wanted = wantedLocales(request, known);
  const wording = new Wording(shippedLocale(wanted) ?? 'en');
  return { wording, locale: nameOf(wording, wanted), sender: null };
}

/** Which of `wanted` led to the language of `wording`. */
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

export function senderName({ sender }: SenderView): Html {
  return html`<b><bdi>${sender.name}</bdi></b>`;
}

/** Where the sender tells of its readers' data, as its pages do: part of what a consent keeps. */
export function privacyLines({
  wording,
  sender: { privacyUrl = null, contactEmail = null },
}: SenderView): string[] {
  return [
    ...(privacyUrl === null ? [] : [wording.text('footer.privacyLink', { url: privacyUrl })]),
    ...(contactEmail === null ? [] : [wording.text('footer.contact', { contact: contactEmail })]),
  ];
}

/** So that its owner recognises it, and nobody else can use it. */
export function addressOf(email: string): Html {
  return html`<b><bdi dir="ltr">${maskedAddress(email)}</bdi></b>`;
}
