import type { ReaderFormats } from './merge-formats.js';

/** Values that merge tags may show of one delivery; `custom` holds the project's custom fields by key. */
export interface MergeValues {
  readonly subscriber: {
    readonly email: string;
    readonly external_id: string | null;
    readonly first_name: string | null;
    readonly last_name: string | null;
    readonly phone: string | null;
    readonly locale: string | null;
    readonly time_zone: string | null;
  };
  readonly custom: Readonly<Record<string, unknown>>;
  readonly topic: { readonly name: string; readonly key: string };
  readonly campaign: { readonly name: string; readonly key: string };
  /** The address on one line, its lines joined by commas. */
  readonly project: { readonly name: string; readonly postal_address: string };
  readonly links: {
    readonly unsubscribe: string;
    readonly preferences: string;
    readonly view: string;
    /** The link that confirms, in mail that asks for that. */
    readonly confirm?: string;
  };
  /** Properties of the event that began the run of an automation, or the data that a client gave it. */
  readonly event?: Readonly<Record<string, unknown>>;
  /** The data that a message was given. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** The tokens of the mail's pixel and tracked links; not for authors, so not among the known variables. */
  readonly tracking?: Readonly<Record<string, string>>;
  /** Formats of dates and numbers, for filters; English and UTC without it. Not for authors either. */
  readonly reader?: ReaderFormats;
}

/** Values of a person who does not exist. */
export const SAMPLE_VALUES: MergeValues = {
  subscriber: {
    email: 'ada@example.com',
    external_id: null,
    first_name: 'Ada',
    last_name: 'Lovelace',
    phone: null,
    locale: null,
    time_zone: null,
  },
  custom: {},
  topic: { name: 'News', key: 'NEWS-1' },
  campaign: { name: 'News', key: 'NEWS-001' },
  project: { name: 'News', postal_address: 'Street 1, 10115 Berlin' },
  links: {
    unsubscribe: 'https://example.com/u',
    preferences: 'https://example.com/p',
    view: 'https://example.com/v',
  },
};

/** Every merge variable that exists in every project; custom fields come on top as `custom.<key>`. */
export const KNOWN_VARIABLES: readonly string[] = Object.entries(SAMPLE_VALUES).flatMap(([group, values]) =>
  Object.keys(values).map((name) => `${group}.${name}`),
);

/** The project as merge tags show it. */
export function projectValues({
  name,
  postalAddress,
}: Readonly<Record<'name' | 'postalAddress', string>>): MergeValues['project'] {
  const lines = postalAddress.split(/[\r\n]+/).map((line) => line.trim());
  return { name, postal_address: lines.filter((line) => line !== '').join(', ') };
}

/** The subscriber as merge tags show them. */
export function subscriberValues({
  email,
  ...rest
}: { readonly email: string } & Readonly<
  Record<'externalId' | 'firstName' | 'lastName' | 'phone' | 'locale' | 'timeZone', string | null>
>): MergeValues['subscriber'] {
  const { externalId, firstName, lastName, phone, locale, timeZone } = rest;
  return {
    email,
    external_id: externalId,
    first_name: firstName,
    last_name: lastName,
    phone,
    locale,
    time_zone: timeZone,
  };
}

/** Somebody of whom no more is known, or may be shown. */
export const addressAlone = (email: string): MergeValues['subscriber'] =>
  subscriberValues({
    email,
    externalId: null,
    firstName: null,
    lastName: null,
    phone: null,
    locale: null,
    timeZone: null,
  });

/** Values that a mail's HTML shows, by their dotted names: all that makes it differ from another of the same content. */
export type ShownValues = Readonly<Record<string, unknown>>;

/** Values that are made anew for each look at the mail. */
const OF_THE_MAIL = /^(?:links|tracking)\./;
const FORMATTING = /\|\s*(?:date|number|money)\b/;
const READER = ['reader.locale', 'reader.timeZone', 'reader.now'];

/** The names of the values that an HTML template shows; one without `slots` may have filters that format. */
export function shownNames(
  html: string,
  { variables, slots }: { readonly variables: readonly string[]; readonly slots?: unknown },
): string[] {
  const names = variables
    .filter((name) => name.includes('.') && !OF_THE_MAIL.test(name))
    .map((name) => name.split('.', 2).join('.'));
  const formatted = slots === undefined && FORMATTING.test(html) ? READER : [];
  return [...new Set([...names, ...formatted])];
}

export function shownValues(names: readonly string[], values: MergeValues): ShownValues {
  return Object.fromEntries(names.map((name) => [name, valueOf(values, name) ?? null]));
}

function valueOf(values: MergeValues, name: string): unknown {
  const [root = '', key = ''] = name.split('.', 2);
  const group: unknown = Object.hasOwn(values, root) ? Reflect.get(values, root) : undefined;
  return typeof group === 'object' && group !== null && Object.hasOwn(group, key)
    ? Reflect.get(group, key)
    : undefined;
}

/** The values with those in their place that were shown. */
export function withShown(values: MergeValues, shown: ShownValues): MergeValues {
  const groups: Record<string, object> = { ...values };
  for (const [name, value] of Object.entries(shown)) {
    const [root = '', key = ''] = name.split('.', 2);
    groups[root] = { ...groups[root], [key]: value };
  }
  return { ...values, ...groups };
}

/** Longer, and the mail's link would be too long for some programs: its page then shows the values of the day. */
const MOST_SEALED = 1_000;
/** Nonce and tag of AES-256-GCM. */
const SEAL_BYTES = 28;
/** Separator before the sealed values in the link. */
export const SEAL_PARAMETER = '?d=';

/** The text of shown values to be sealed in a link; null where there are none, or too many. */
export function sealable(shown: ShownValues): string | null {
  if (Object.keys(shown).length === 0) return null;
  const text = JSON.stringify(shown);
  return Buffer.byteLength(text) > MOST_SEALED ? null : text;
}

/** Characters that sealing the shown values adds to a link. */
export function sealedLength(shown: ShownValues): number {
  const text = sealable(shown);
  if (text === null) return 0;
  return SEAL_PARAMETER.length + Math.ceil(((SEAL_BYTES + Buffer.byteLength(text)) * 4) / 3);
}
