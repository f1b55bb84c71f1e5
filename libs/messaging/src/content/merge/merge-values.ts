import type { ReaderFormats } from './merge-formats.js';

/** What merge tags may show of the project. */
interface ProjectValues {
  readonly name: string;
  /** On one line, its lines joined by commas. */
  readonly postal_address: string;
}

/** What merge tags may show of one delivery; `custom` holds the project's custom fields by key. */
export interface MergeValues {
  readonly subscriber: {
    readonly email: string;
    readonly first_name: string | null;
    readonly last_name: string | null;
    readonly phone: string | null;
    readonly locale: string | null;
    readonly time_zone: string | null;
  };
  readonly custom: Readonly<Record<string, unknown>>;
  readonly topic: { readonly name: string; readonly key: string };
  readonly campaign: { readonly name: string; readonly key: string };
  readonly project: ProjectValues;
  readonly links: { readonly unsubscribe: string; readonly preferences: string; readonly view: string };
  /** The tokens of the mail's pixel and tracked links; not for authors, so not among the known variables. */
  readonly tracking?: Readonly<Record<string, string>>;
  /** How dates and numbers are shown, for filters; without it in English, and in UTC. Not for authors either. */
  readonly reader?: ReaderFormats;
}

/** The project as merge tags show it. */
export function projectValues({
  name,
  postalAddress,
}: {
  readonly name: string;
  readonly postalAddress: string;
}): ProjectValues {
  const lines = postalAddress.split(/[\r\n]+/).map((line) => line.trim());
  return { name, postal_address: lines.filter((line) => line !== '').join(', ') };
}

/** The subscriber as merge tags show them. */
export function subscriberValues({
  email,
  firstName,
  lastName,
  phone,
  locale,
  timeZone,
}: {
  readonly email: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly phone: string | null;
  readonly locale: string | null;
  readonly timeZone: string | null;
}): MergeValues['subscriber'] {
  return { email, first_name: firstName, last_name: lastName, phone, locale, time_zone: timeZone };
}

/** Every merge variable that exists in every project; custom fields come on top as `custom.<key>`. */
export const KNOWN_VARIABLES: readonly string[] = [
  'subscriber.email',
  'subscriber.first_name',
  'subscriber.last_name',
  'subscriber.phone',
  'subscriber.locale',
  'subscriber.time_zone',
  'topic.name',
  'topic.key',
  'campaign.name',
  'campaign.key',
  'project.name',
  'project.postal_address',
  'links.unsubscribe',
  'links.preferences',
  'links.view',
];

/**
 * The variables of a template that no delivery will ever fill, sorted: pre-send refuses them, since they
 * would silently come out empty. A deeper path (`custom.tags.size`) is judged by its first two names.
 */
export function unknownVariables(
  template: { readonly variables: readonly string[] },
  customKeys: Iterable<string>,
): string[] {
  const known = new Set(KNOWN_VARIABLES);
  for (const key of customKeys) known.add(`custom.${key}`);
  const unknown = template.variables.filter((name) => !known.has(name.split('.', 2).join('.')));
  return [...new Set(unknown)].sort();
}
