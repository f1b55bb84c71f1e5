import { type EmailAddress, parseEmailAddress } from '#kernel';
import { type ColumnTarget, customFieldOf } from './import-columns.js';
import { type StagedRow, WHOLE_ROW } from './import.js';

/** What a row says of a person. A field that it says nothing of is absent; null clears. */
export interface ReadRow {
  readonly row: number;
  readonly address: EmailAddress;
  readonly fields: { readonly [Field in 'firstName' | 'lastName' | 'phone']?: string | null };
  readonly customFields: Readonly<Record<string, unknown>>;
}

/** A row that cannot be applied. */
export interface FaultyRow {
  readonly row: number;
  readonly email: string | null;
  readonly emailKey: string | null;
  readonly errors: Readonly<Record<string, string>>;
}

/** As the API takes them. */
const MAX_LENGTH = { firstName: 50, lastName: 50, phone: 20 } as const;
const CONTROL = /\p{Cc}/u;
/** RFC 5321 §4.5.3.1.3: what is longer is no address, and nothing to show. */
const SHOWN_ADDRESS = 254;

/** Reads the cells of a row; all that is wrong with it is told at once. */
export function readRow(columns: readonly ColumnTarget[], staged: StagedRow): ReadRow | FaultyRow {
  const given = valuesOf(columns, staged.cells);
  const errors: Record<string, string> = {};
  if (staged.fault !== null) errors[WHOLE_ROW] = staged.fault;
  const address = staged.fault === null ? addressOf(given.get('email'), errors) : null;
  const fields: Record<string, string | null> = {};
  const customFields: Record<string, unknown> = {};
  for (const [target, value] of given) {
    const key = customFieldOf(target);
    if (key !== null) customFields[key] = value;
    else if (target !== 'email') fields[target] = textOf(target as keyof typeof MAX_LENGTH, value, errors);
  }
  const { row, emailKey } = staged;
  if (address === null || Object.keys(errors).length > 0) {
    return { row, email: shownAddress(given.get('email')), emailKey, errors };
  }
  return { row, address, fields, customFields };
}

/** Whether the row can be applied. */
export function isReadable(row: ReadRow | FaultyRow): row is ReadRow {
  return 'address' in row;
}

/** The key of the address in a row that just came; null when there is no valid one. */
export function emailKeyOf(columns: readonly ColumnTarget[], cells: readonly unknown[]): string | null {
  const email = cells[columns.indexOf('email')];
  if (typeof email !== 'string') return null;
  const parsed = parseEmailAddress(email);
  return 'address' in parsed ? parsed.address.key : null;
}

function valuesOf(columns: readonly ColumnTarget[], cells: readonly unknown[]): Map<string, unknown> {
  const values = new Map<string, unknown>();
  columns.forEach((target, index) => {
    const value = cells[index];
    const isNothing = value === undefined || (typeof value === 'string' && value.trim() === '');
    if (target !== null && !isNothing) values.set(target, value);
  });
  return values;
}

function addressOf(value: unknown, errors: Record<string, string>): EmailAddress | null {
  const parsed =
    typeof value === 'string'
      ? parseEmailAddress(value)
      : { fault: value === undefined ? 'is required' : 'must be a string' };
  if ('address' in parsed) return parsed.address;
  errors['email'] = parsed.fault;
  return null;
}

function textOf(
  field: keyof typeof MAX_LENGTH,
  value: unknown,
  errors: Record<string, string>,
): string | null {
  if (value === null) return null;
  const fault = typeof value === 'string' ? textFault(value, MAX_LENGTH[field]) : 'must be a string';
  if (fault !== null) errors[field] = fault;
  return typeof value === 'string' ? value : null;
}

function textFault(value: string, max: number): string | null {
  // In code points, as JSON Schema counts.
  if (value.length > max && Array.from(value).length > max) return `must be at most ${max} characters`;
  if (CONTROL.test(value)) return 'must not contain control characters';
  return value.isWellFormed() ? null : 'is not valid Unicode';
}

function shownAddress(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = value.trim().slice(0, SHOWN_ADDRESS);
  return text.replaceAll(/\p{Cc}/gu, '\ufffd').toWellFormed();
}
