import { type EmailAddress, parseEmailAddress } from '#kernel';
import { SUPPRESSION_REASONS, type SuppressionReason } from '../consents/consent.js';
import { applyCustomFields } from '../custom-fields/custom-field-values.js';
import type { CustomFieldDefinition } from '../custom-fields/custom-field.js';
import { NO_FIELDS } from '../subscribers/subscriber.js';
import { FIELD_READERS } from '../subscribers/subscriber-fields.js';
import { type ColumnTarget, customFieldOf } from './import-columns.js';
import {
  type CheckedRow,
  type ImportError,
  type RowPlace,
  type StagedRow,
  type StagedSubscriber,
  WHOLE_ROW,
} from './import.js';

/** The fields of a row. Fields that it does not have are absent; null clears. */
export interface ReadRow extends RowPlace {
  readonly address: EmailAddress;
  readonly fields: { readonly [Field in keyof typeof FIELD_READERS]?: string | null };
  readonly customFields: Readonly<Record<string, unknown>>;
}

/** A row that cannot be applied. */
export interface FaultyRow extends ImportError {
  readonly emailKey: string | null;
}

/** The values of cells, and all errors in them. */
interface ReadCells extends Omit<ReadRow, keyof RowPlace | 'address'> {
  readonly address: EmailAddress | null;
  readonly errors: Readonly<Record<string, string>>;
}

/** Checks a new row: its address, and the subscriber to create when nobody has the address. */
export function checkedRow(
  columns: readonly ColumnTarget[],
  definitions: readonly CustomFieldDefinition[],
  { row, line }: RowPlace,
  cells: readonly unknown[],
): CheckedRow {
  const read = readCells(columns, cells);
  const emailKey = read.address?.key ?? null;
  return { row, line, emailKey, cells, fault: null, newSubscriber: newSubscriberOf(read, definitions) };
}

/** Reads the cells of a row, and reports all errors at once. */
export function readRow(columns: readonly ColumnTarget[], staged: StagedRow): ReadRow | FaultyRow {
  const { row, line, emailKey, cells, fault } = staged;
  if (fault !== null) return { row, line, email: null, emailKey, errors: { [WHOLE_ROW]: fault } };
  const { address, fields, customFields, errors } = readCells(columns, cells);
  // Without an address the cell is not kept: no erasure could find it.
  if (address === null) return { row, line, email: null, emailKey, errors };
  if (hasAny(errors)) return { row, line, email: address.value, emailKey, errors };
  return { row, line, address, fields, customFields };
}

/** The reason of a row of addresses to suppress, in upper or lower case; `otherwise` where it names none. */
export function readReason(
  columns: readonly ColumnTarget[],
  staged: StagedRow,
  row: ReadRow,
  otherwise: SuppressionReason,
): SuppressionReason | FaultyRow {
  const cell = staged.cells[columns.indexOf('reason')];
  if (isNothing(cell)) return otherwise;
  const wanted = String(cell).trim().toUpperCase();
  const reason = SUPPRESSION_REASONS.find((one) => one === wanted);
  if (reason !== undefined) return reason;
  const { address, row: number, line } = row;
  const errors = { reason: `must be one of ${SUPPRESSION_REASONS.join(', ')}` };
  return { row: number, line, email: address.value, emailKey: address.key, errors };
}

/** True for a row that can be applied. */
export function isReadable(row: ReadRow | FaultyRow): row is ReadRow {
  return 'address' in row;
}

function newSubscriberOf(
  { address, fields, customFields, errors }: ReadCells,
  definitions: readonly CustomFieldDefinition[],
): StagedSubscriber | null {
  if (address === null || hasAny(errors)) return null;
  const custom = applyCustomFields(definitions, {}, customFields, 'create');
  if ('errors' in custom) return null;
  return { email: address.value, ...NO_FIELDS, ...fields, customFields: custom.values };
}

function readCells(columns: readonly ColumnTarget[], cells: readonly unknown[]): ReadCells {
  const errors: Record<string, string> = {};
  const fields: Record<string, string | null> = {};
  const customFields: Record<string, unknown> = {};
  const address = addressOf(emailOf(columns, cells), errors);
  columns.forEach((target, index) => {
    const value = cells[index];
    if (target === null || target === 'email' || target === 'reason' || isNothing(value)) return;
    const key = customFieldOf(target);
    if (key !== null) customFields[key] = value;
    else {
      const read = fieldOf(target as keyof typeof FIELD_READERS, value, errors);
      // A name of quotes alone.
      if (read !== '') fields[target] = read;
    }
  });
  return { address, fields, customFields, errors };
}

function hasAny(errors: Readonly<Record<string, string>>): boolean {
  return Object.keys(errors).length > 0;
}

function isNothing(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && value.trim() === '');
}

function emailOf(columns: readonly ColumnTarget[], cells: readonly unknown[]): unknown {
  const value = cells[columns.indexOf('email')];
  return isNothing(value) ? undefined : value;
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

function fieldOf(
  field: keyof typeof FIELD_READERS,
  value: unknown,
  errors: Record<string, string>,
): string | null {
  if (value === null) return null;
  const read = typeof value === 'string' ? FIELD_READERS[field](value) : { fault: 'must be a string' };
  if ('value' in read) return read.value;
  errors[field] = read.fault;
  return null;
}
