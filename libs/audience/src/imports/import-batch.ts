import { DomainValidationError } from '#kernel';
import type { CustomFieldDefinition } from '../custom-fields/custom-field.js';
import { ImportNotReadableError } from './import.errors.js';
import type { CheckedRow } from './import.js';
import { type ChosenColumns, type ColumnMapping, type ColumnTarget } from './import-columns.js';

/** Some rows of an import in order, with the fields of their columns, which are the same in all its batches. */
export interface ImportBatch {
  readonly columns: readonly ColumnTarget[];
  readonly rows: readonly CheckedRow[];
}

/** The fields and mapping that column names are matched with. */
export interface ColumnRules {
  readonly mapping: ColumnMapping;
  readonly definitions: readonly CustomFieldDefinition[];
}

/** Reads the columns. Throws ImportNotReadableError, DomainValidationError. */
export function acceptedColumns({ targets, faults, unknown }: ChosenColumns): readonly ColumnTarget[] {
  if (Object.keys(faults).length > 0) throw new ImportNotReadableError({ ...faults, ...unknown });
  if (Object.keys(unknown).length > 0) throw new DomainValidationError(unknown);
  return targets;
}
