import type { CustomFieldView } from './custom-field.js';

/** The creation time of system fields, which are the same in every project. */
const SINCE = new Date('2026-11-21T00:00:00.000Z');

/** The fields that every subscriber has, listed with custom fields so that forms and imports can use them. */
export const SYSTEM_FIELDS: readonly CustomFieldView[] = [
  systemField('019aa2a0-0000-7000-8000-000000000001', 'email', 'EMAIL', 'E-mail address', true),
  systemField('019aa2a0-0000-7000-8000-000000000002', 'first_name', 'TEXT', 'First name', false),
  systemField('019aa2a0-0000-7000-8000-000000000003', 'last_name', 'TEXT', 'Last name', false),
  systemField('019aa2a0-0000-7000-8000-000000000004', 'phone', 'PHONE', 'Phone', false),
];

/** Keys that would mean something else in programs that read the values. */
const RESERVED_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

export function systemFieldOf(key: string): CustomFieldView | null {
  return SYSTEM_FIELDS.find((field) => field.key === key) ?? null;
}

/** Whether the key is reserved. */
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
  return {
    id,
    key,
    type,
    displayName,
    description: null,
    isSystem: true,
    isRequired,
    defaultValue: null,
    options: [],
    status: 'ACTIVE',
    createdAt: SINCE,
    updatedAt: SINCE,
    archivedAt: null,
  };
}
