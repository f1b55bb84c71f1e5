import { isTimeZone, LOCALE_FAULT, parseFileLocale, TIME_ZONE_FAULT } from '#kernel';
import { systemFieldOf } from '../custom-fields/custom-field.js';
import { externalIdFault, normalizedName } from './subscriber.js';

type ReadText = { readonly value: string } | { readonly fault: string };

const CONTROL = /\p{Cc}/u;

/** The fields that every subscriber has beside the address, read from text. The same rules as in the API. */
export const FIELD_READERS = {
  externalId: externalIdOf,
  firstName: (text: string) => boundedText(normalizedName(text), 50),
  lastName: (text: string) => boundedText(normalizedName(text), 50),
  phone: (text: string) => boundedText(text, 20),
  locale: localeOf,
  timeZone: timeZoneOf,
};
type Column = keyof typeof FIELD_READERS;

function boundedText(value: string, max: number): ReadText {
  // In code points, as JSON Schema counts.
  if (value.length > max && Array.from(value).length > max)
    return { fault: `must be at most ${max} characters` };
  if (CONTROL.test(value)) return { fault: 'must not contain control characters' };
  return value.isWellFormed() ? { value } : { fault: 'is not valid Unicode' };
}

function externalIdOf(text: string): ReadText {
  const value = text.trim();
  const fault = externalIdFault(value);
  return fault === null ? { value } : { fault };
}

function localeOf(text: string): ReadText {
  const value = parseFileLocale(text);
  return value === null ? { fault: LOCALE_FAULT } : { value };
}

function timeZoneOf(text: string): ReadText {
  const value = text.trim();
  return isTimeZone(value) ? { value } : { fault: TIME_ZONE_FAULT };
}

/** A field that an automation may change: a column of its own, or the key of a custom field. */
export type ChangeableField =
  | { readonly column: Exclude<Column, 'externalId'> }
  | { readonly custom: string };

const COLUMNS: Readonly<Record<string, Exclude<Column, 'externalId'>>> = {
  first_name: 'firstName',
  last_name: 'lastName',
  phone: 'phone',
  locale: 'locale',
  time_zone: 'timeZone',
};

/**
 * Reads the name of a field as merge tags have it: `custom.plan`, `subscriber.first_name`. Without a prefix it is the key in the list
 * of custom fields: `plan`, `first_name`. Null for one of the subscriber's that there is not, or that no automation may change.
 */
export function changeableField(name: string): ChangeableField | null {
  const [, group, key = ''] = /^(?:(custom|subscriber)\.)?(.*)$/s.exec(name) ?? [];
  const isOwn = group === 'subscriber' || (group === undefined && systemFieldOf(key) !== null);
  if (!isOwn) return { custom: key };
  const column = Object.hasOwn(COLUMNS, key) ? COLUMNS[key] : undefined;
  return column === undefined ? null : { column };
}
