import { InvalidStateError, patched } from '#kernel';

export const CUSTOM_FIELD_TYPES = [
  'TEXT',
  'LONG_TEXT',
  'NUMBER',
  'DECIMAL',
  'BOOLEAN',
  'DATE',
  'DATETIME',
  'EMAIL',
  'URL',
  'PHONE',
  'SELECT',
  'MULTI_SELECT',
] as const;
export type CustomFieldType = (typeof CUSTOM_FIELD_TYPES)[number];

export const CUSTOM_FIELD_STATUSES = ['ACTIVE', 'ARCHIVED'] as const;
export type CustomFieldStatus = (typeof CUSTOM_FIELD_STATUSES)[number];

/** A value of a SELECT or MULTI_SELECT, with its label. */
export interface CustomFieldOption {
  readonly value: string;
  readonly label: string;
}

/** A property of subscribers that a project defines. */
export class CustomField {
  readonly id!: string;
  readonly environmentId!: number;
  readonly key!: string;
  readonly type!: CustomFieldType;
  displayName!: string;
  description!: string | null;
  /** New subscribers must have a value, which then cannot be cleared. */
  isRequired!: boolean;
  /** The value that templates use for subscribers without one; never written to the subscriber. */
  defaultValue!: string | null;
  /** In their order; empty unless SELECT or MULTI_SELECT. */
  options!: readonly CustomFieldOption[];
  status!: CustomFieldStatus;
  readonly createdAt!: Date;
  updatedAt!: Date;
  archivedAt!: Date | null;

  /** Throws InvalidStateError. */
  change(patch: CustomFieldPatch, now: Date): void {
    if (this.status === 'ARCHIVED') {
      throw new InvalidStateError('An archived custom field cannot be changed.', 'ARCHIVED', ['ACTIVE']);
    }
    if (patched(this, SETTINGS, patch)) this.updatedAt = now;
  }

  /** Does nothing when it is archived already. */
  archive(now: Date): void {
    if (this.status === 'ARCHIVED') return;
    this.status = 'ARCHIVED';
    this.archivedAt = now;
    this.updatedAt = now;
  }
}

const SETTINGS = ['displayName', 'description', 'isRequired', 'defaultValue', 'options'] as const;

/** The properties of a field that can change; key and type cannot. */
export type CustomFieldSettings = Pick<CustomField, (typeof SETTINGS)[number]>;

/** Absent properties stay; options are replaced as a whole. */
export type CustomFieldPatch = {
  readonly [Setting in keyof CustomFieldSettings]?: CustomFieldSettings[Setting] | undefined;
};

/** A field of the project or of the system. */
export type CustomFieldView = Readonly<Omit<CustomField, 'environmentId' | 'change' | 'archive'>> & {
  readonly isSystem: boolean;
};

/** The parts of a field that validate values. */
export type CustomFieldDefinition = Pick<
  CustomFieldView,
  'key' | 'type' | 'displayName' | 'isRequired' | 'defaultValue' | 'options' | 'status'
>;

/**
 * A value as stored in the JSON object `subscribers.custom_fields` and as returned:
 * - TEXT, LONG_TEXT, EMAIL, URL, PHONE, SELECT: a string;
 * - NUMBER: a whole number between ±(2^53 − 1); DECIMAL: a number of at most 15 significant digits, below 10^15;
 * - BOOLEAN: true or false;
 * - DATE: `YYYY-MM-DD`; DATETIME: UTC with milliseconds and `Z`. Text order is the order of time;
 * - MULTI_SELECT: an array of strings in the order of the options, each once.
 * A cleared value has no member; null is never stored.
 */
export type CustomFieldValue = string | number | boolean | readonly string[];
export type CustomFieldValues = Readonly<Record<string, CustomFieldValue>>;

/** Field key → error; `WHOLE_SUBSCRIBER` for errors that concern no single field. */
export type CustomFieldErrors = Readonly<Record<string, string>>;
export const WHOLE_SUBSCRIBER = '';

export const MAX_ACTIVE_FIELDS = 100;
/** The most bytes of a subscriber's values as UTF-8 JSON. */
export const MAX_VALUES_OCTETS = 16 * 1024;

/** True for a type with options. */
export function hasOptions(type: CustomFieldType): boolean {
  return type === 'SELECT' || type === 'MULTI_SELECT';
}

/** The value read, or the error message. */
export type ParsedValue = { readonly value: CustomFieldValue } | { readonly fault: string };

/** The values of options that a change removes. */
export function goneOptions(
  before: readonly CustomFieldOption[],
  after: readonly CustomFieldOption[],
): readonly string[] {
  const kept = new Set(after.map(({ value }) => value));
  return before.map(({ value }) => value).filter((value) => !kept.has(value));
}

/** The creation time of system fields, which are the same in every project. */
const SINCE = new Date('2026-11-21T00:00:00.000Z');

/** The fields that every subscriber has, listed with custom fields so that forms and imports can use them. */
export const SYSTEM_FIELDS: readonly CustomFieldView[] = [
  systemField('019aa2a0-0000-7000-8000-000000000001', 'email', 'EMAIL', 'E-mail address', true),
  systemField('019aa2a0-0000-7000-8000-000000000002', 'first_name', 'TEXT', 'First name', false),
  systemField('019aa2a0-0000-7000-8000-000000000003', 'last_name', 'TEXT', 'Last name', false),
  systemField('019aa2a0-0000-7000-8000-000000000004', 'phone', 'PHONE', 'Phone', false),
];

const RESERVED_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

export function systemFieldOf(key: string): CustomFieldView | null {
  return SYSTEM_FIELDS.find((field) => field.key === key) ?? null;
}

/** True for the key of a system field, or one that would mean something else to programs that read the values. */
export function isReservedKey(key: string): boolean {
  return systemFieldOf(key) !== null || RESERVED_KEYS.has(key);
}

function systemField(
  id: string,
  key: string,
  type: CustomFieldView['type'],
  displayName: string,
  isRequired: boolean,
): CustomFieldView {
  const described = {
    id,
    key,
    type,
    displayName,
    description: null,
    isRequired,
    defaultValue: null,
    options: [],
  };
  return {
    ...described,
    isSystem: true,
    status: 'ACTIVE',
    createdAt: SINCE,
    updatedAt: SINCE,
    archivedAt: null,
  };
}
