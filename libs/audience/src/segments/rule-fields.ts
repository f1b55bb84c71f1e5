import type { CustomFieldType } from '../custom-fields/custom-field.js';
import { SUBSCRIBER_STATUSES } from '../consents/consent.js';
import type { RuleCatalogue } from './rule-catalogue.js';
import { type JsonObject, member, type RuleFaults } from './rule-faults.js';
import type { RuleField, TextColumn, ValueKind } from './segment-rules.js';

/** A field that rules can name, with the kind of its values. */
export interface NamedField {
  readonly field: RuleField;
  readonly kind: ValueKind;
  /** The possible values of a choice. With `closed`, rules cannot name others. */
  readonly options: readonly string[];
  readonly closed: boolean;
}

const SOURCES = ['API', 'IMPORT', 'FORM', 'MANUAL'] as const;
const CUSTOM = 'custom.';

const TEXTS: Readonly<Record<string, TextColumn>> = {
  email: 'email',
  firstName: 'firstName',
  lastName: 'lastName',
  phone: 'phone',
  locale: 'locale',
  timeZone: 'timeZone',
  'subscriber.locale': 'locale',
  'subscriber.time_zone': 'timeZone',
};

const COLUMNS: ReadonlyMap<string, NamedField> = new Map<string, NamedField>([
  ...Object.entries(TEXTS).map(
    ([name, column]) => [name, { field: { column }, kind: 'text', options: [], closed: false }] as const,
  ),
  ['status', { field: { column: 'status' }, kind: 'choice', options: SUBSCRIBER_STATUSES, closed: true }],
  ['source', { field: { column: 'source' }, kind: 'choice', options: SOURCES, closed: true }],
  ['createdAt', { field: { column: 'createdAt' }, kind: 'moment', options: [], closed: false }],
]);

const KINDS: Readonly<Record<CustomFieldType, ValueKind>> = {
  TEXT: 'text',
  LONG_TEXT: 'text',
  EMAIL: 'text',
  URL: 'text',
  PHONE: 'text',
  NUMBER: 'number',
  DECIMAL: 'number',
  BOOLEAN: 'boolean',
  DATE: 'date',
  DATETIME: 'moment',
  SELECT: 'choice',
  MULTI_SELECT: 'choices',
};

/** The field that `condition.field` names; null after adding an error. */
export function readField(
  condition: JsonObject,
  path: string,
  catalogue: Pick<RuleCatalogue, 'customFields'>,
  faults: RuleFaults,
  { stored }: { readonly stored: boolean },
): NamedField | null {
  const name = faults.string(member(condition, 'field'), `${path}.field`);
  if (name === null) return null;
  const column = COLUMNS.get(name);
  if (column !== undefined) return column;
  const custom = customKeyOf(name);
  const known = custom === null ? undefined : catalogue.customFields.get(custom);
  if (custom === null || known === undefined) return faults.add(`${path}.field`, 'is not a known field');
  if (known.status === 'ARCHIVED' && !stored) return faults.add(`${path}.field`, 'is an archived field');
  const options = known.options.map(({ value }) => value);
  return { field: { custom }, kind: KINDS[known.type], options, closed: false };
}

/** The key of the custom field with this name, or null. */
export function customKeyOf(name: string): string | null {
  return name.startsWith(CUSTOM) ? name.slice(CUSTOM.length) : null;
}
