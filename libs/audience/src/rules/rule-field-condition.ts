import { hostName, parseFileLocale } from '#kernel';
import { SUBSCRIBER_STATUSES } from '../consents/consent.js';
import type { CustomFieldType } from '../custom-fields/custom-field.js';
import { normalizedName } from '../subscribers/subscriber.js';
import { type JsonObject, member, readDayOrMoment, readDuration, type RuleFaults } from './rule-faults.js';
import type { FieldCondition, FieldTest, RuleCatalogue, RuleField, TextColumn, ValueKind } from './rule.js';
import { folded } from './text-folding.js';

/** A field that rules can name, with the kind of its values. */
interface NamedField {
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
  externalId: 'externalId',
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

const OPERATORS = {
  text: ['eq', 'neq', 'contains', 'notContains', 'startsWith', 'endsWith', 'in', 'notIn'],
  number: ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'between'],
  boolean: ['eq'],
  date: ['before', 'after', 'on', 'inLast', 'notInLast', 'inNext', 'anniversaryInNext'],
  moment: ['before', 'after', 'on', 'inLast', 'notInLast', 'inNext', 'anniversaryInNext'],
  choice: ['eq', 'neq', 'in', 'notIn'],
  choices: ['containsAny', 'containsAll', 'containsNone'],
} as const satisfies Readonly<Record<ValueKind, readonly string[]>>;

const NEGATIVE: ReadonlyMap<string, string> = new Map([
  ['neq', 'eq'],
  ['notIn', 'in'],
  ['notContains', 'contains'],
  ['containsNone', 'containsAny'],
  ['notExists', 'exists'],
  ['notInLast', 'inLast'],
]);

/** Reads `{"field":F,"op":OP,"value":V}`; null with faults. */
export function readFieldCondition(
  condition: JsonObject,
  path: string,
  catalogue: RuleCatalogue,
  faults: RuleFaults,
  reading: { readonly stored: boolean },
): FieldCondition | null {
  faults.onlyMembers(condition, ['field', 'op', 'value'], path);
  const named = readField(condition, path, catalogue, faults, reading);
  if (named === null) {
    faults.string(member(condition, 'op'), `${path}.op`);
    return null;
  }
  const operators = [...OPERATORS[named.kind], 'exists', 'notExists'];
  const op = faults.oneOf(member(condition, 'op'), operators, `${path}.op`);
  if (op === null) return null;
  const positive = NEGATIVE.get(op) ?? op;
  const test = readTest(named, positive, {
    value: member(condition, 'value'),
    path: `${path}.value`,
    faults,
  });
  return test === null ? null : { kind: 'field', field: named.field, test, negated: positive !== op };
}

interface GivenValue {
  readonly value: unknown;
  readonly path: string;
  readonly faults: RuleFaults;
}

function readTest(named: NamedField, op: string, given: GivenValue): FieldTest | null {
  if (op === 'exists') return readExists(named.kind, given);
  switch (named.kind) {
    case 'text':
      return readText(named, op, given);
    case 'number':
      return readNumber(op, given);
    case 'boolean':
      return readBoolean(given);
    case 'choice':
    case 'choices':
      return readChoice(named, op, given);
    case 'date':
    case 'moment':
      return readDate(named.kind, op, given);
  }
}

/** Refuses a value: `exists` compares with nothing, and `false` would mean the opposite. */
function readExists(of: ValueKind, { value, path, faults }: GivenValue): FieldTest | null {
  if (value === undefined || value === null || value === true) return { test: 'exists', of };
  return faults.add(path, 'must not be used with exists and notExists');
}

const TEXT_TESTS = {
  eq: 'equal',
  in: 'equal',
  contains: 'containing',
  startsWith: 'beginning',
  endsWith: 'ending',
} as const;

function readText({ field }: NamedField, op: string, { value, path, faults }: GivenValue): FieldTest | null {
  const text = (each: unknown, at: string) => faults.string(each, at);
  const values = op === 'in' ? faults.list(value, path, text) : one(text(value, path));
  if (values === null) return null;
  const is = TEXT_TESTS[op as keyof typeof TEXT_TESTS];
  return { test: 'text', is, values: values.map((each) => comparedText(field, each, is)) };
}

type TextTest = (typeof TEXT_TESTS)[keyof typeof TEXT_TESTS];

/** The text in the form in which the field's values are stored, folded. */
function comparedText(field: RuleField, text: string, is: TextTest): string {
  const column = 'column' in field ? field.column : null;
  switch (column) {
    case 'email':
      return emailKeyPart(text, is);
    case 'firstName':
    case 'lastName':
      return folded(is === 'equal' ? normalizedName(text) : text.normalize('NFC'));
    case 'locale':
      return folded((is === 'equal' ? parseFileLocale(text) : null) ?? text);
    default:
      return folded(text);
  }
}

/**
 * Converts a part of an address to the form of the address's key: lower case, a whole domain as A-labels. So
 * `endsWith "@bücher.example"` finds addresses in either spelling.
 */
function emailKeyPart(text: string, is: TextTest): string {
  const part = is === 'equal' ? text.trim() : text;
  const at = part.lastIndexOf('@');
  if (at === -1 && is !== 'ending') return part.toLowerCase();
  const domain = part.slice(at + 1);
  return `${part.slice(0, at + 1).toLowerCase()}${hostName(domain) ?? domain.toLowerCase()}`;
}

function readNumber(op: string, { value, path, faults }: GivenValue): FieldTest | null {
  if (op === 'between') return readBetween({ value, path, faults });
  const number = faults.number(value, path);
  if (number === null) return null;
  const bound = { value: number, inclusive: op !== 'gt' && op !== 'lt' };
  return {
    test: 'number',
    from: op === 'lt' || op === 'lte' ? null : bound,
    to: op === 'gt' || op === 'gte' ? null : bound,
  };
}

/** `[from, to]`, both included. */
function readBetween({ value, path, faults }: GivenValue): FieldTest | null {
  const bounds = faults.list(value, path, (each, at) => faults.number(each, at));
  if (bounds === null) return null;
  const [from, to] = bounds;
  if (from === undefined || to === undefined || bounds.length > 2)
    return faults.add(path, 'must be a list of two numbers');
  if (from > to) return faults.add(path, 'must have the smaller number first');
  return { test: 'number', from: { value: from, inclusive: true }, to: { value: to, inclusive: true } };
}

function readBoolean({ value, path, faults }: GivenValue): FieldTest | null {
  if (typeof value === 'boolean') return { test: 'boolean', value };
  return faults.add(path, value === undefined ? 'is required' : 'must be true or false');
}

function readChoice(named: NamedField, op: string, { value, path, faults }: GivenValue): FieldTest | null {
  const option = (each: unknown, at: string) => readOption(named, each, at, faults);
  const values = op === 'eq' ? one(option(value, path)) : faults.list(value, path, option);
  if (values === null) return null;
  if (named.kind === 'choice') return { test: 'choice', values };
  return { test: 'choices', match: op === 'containsAll' ? 'all' : 'any', values };
}

/** Finds an option ignoring case, and prefers an exact match among options that differ in case only. */
function readOption(
  { options, closed }: NamedField,
  value: unknown,
  path: string,
  faults: RuleFaults,
): string | null {
  const text = faults.string(value, path);
  if (text === null || options.includes(text)) return text;
  const key = folded(text);
  const found = options.find((option) => folded(option) === key);
  if (found === undefined && closed) return faults.add(path, `must be one of ${options.join(', ')}`);
  return found ?? text;
}

function readDate(of: 'date' | 'moment', op: string, { value, path, faults }: GivenValue): FieldTest | null {
  if (op === 'before' || op === 'after' || op === 'on') {
    const than = readDayOrMoment(value, path, of, faults);
    return than === null ? null : { test: 'calendar', of, is: op, than };
  }
  const duration = readDuration(value, path, faults);
  return duration === null
    ? null
    : { test: 'relative', of, is: op as 'inLast' | 'inNext' | 'anniversaryInNext', duration };
}

function one(text: string | null): readonly string[] | null {
  return text === null ? null : [text];
}

/** The field that `condition.field` names; null after adding an error. */
function readField(
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
