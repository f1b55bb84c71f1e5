import type { MergeTemplate } from './merge-template.js';
import type { MergeValues } from './merge-values.js';

/** What a mail's HTML shows, by its dotted names: all that makes it different from another of the same content. */
export type ShownValues = Readonly<Record<string, unknown>>;

/** Of the mail itself: made anew for each look at it. */
const OF_THE_MAIL = /^(?:links|tracking)\./;
const FORMATTING = /\|\s*(?:date|number|money)\b/;
const READER = ['reader.locale', 'reader.timeZone', 'reader.now'];

/** The names of the values that an HTML template shows. */
export function shownNames(html: string, { variables, slots }: MergeTemplate): string[] {
  const names = variables
    .filter((name) => name.includes('.') && !OF_THE_MAIL.test(name))
    .map((name) => name.split('.', 2).join('.'));
  const formatted = slots === undefined && FORMATTING.test(html) ? READER : [];
  return [...new Set([...names, ...formatted])];
}

export function shownValues(names: readonly string[], values: MergeValues): ShownValues {
  return Object.fromEntries(names.map((name) => [name, valueOf(values, name) ?? null]));
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

function valueOf(values: MergeValues, name: string): unknown {
  const [root = '', key = ''] = name.split('.', 2);
  const group: unknown = Object.hasOwn(values, root) ? Reflect.get(values, root) : undefined;
  return typeof group === 'object' && group !== null && Object.hasOwn(group, key)
    ? Reflect.get(group, key)
    : undefined;
}

/** Longer, and the mail's link would be too long for some programs: its page then shows the values of the day. */
const MOST_SEALED = 1_000;
/** Nonce and tag of AES-256-GCM. */
const SEAL_BYTES = 28;

/** The text of shown values to be sealed in a link; null where there are none, or too many. */
export function sealable(shown: ShownValues): string | null {
  if (Object.keys(shown).length === 0) return null;
  const text = JSON.stringify(shown);
  return Buffer.byteLength(text) > MOST_SEALED ? null : text;
}

/** How much of shown values makes a link longer, in characters. */
export function sealedLength(shown: ShownValues): number {
  const text = sealable(shown);
  if (text === null) return 0;
  return SEAL_PARAMETER.length + Math.ceil(((SEAL_BYTES + Buffer.byteLength(text)) * 4) / 3);
}

/** What comes before them in the link. */
export const SEAL_PARAMETER = '?d=';
