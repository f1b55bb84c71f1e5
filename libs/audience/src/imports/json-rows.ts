import { acceptedColumns, type ColumnRules, type ImportBatch } from './import-batch.js';
import { chooseColumns } from './import-columns.js';
import { arrivedRow } from './import-row.js';

/** A row of a list: column → value, and the custom fields in an object of their own, or among the columns. */
export interface JsonRow {
  readonly [column: string]: unknown;
  readonly customFields?: Readonly<Record<string, unknown>> | undefined;
}

/** The rows of a list. Throws ImportNotReadableError, DomainValidationError. */
export function jsonRows(rows: readonly JsonRow[], rules: ColumnRules): ImportBatch {
  const flat = rows.map(withoutNesting);
  const paths = new Map<string, string>();
  flat.forEach((row, index) => {
    for (const name of Object.keys(row)) if (!paths.has(name)) paths.set(name, `rows[${index}].${name}`);
  });
  const names = [...paths.keys()];
  const pathOf = (index: number): string => paths.get(names[index]!)!;
  const columns = acceptedColumns(chooseColumns(names, rules.mapping, rules.definitions, pathOf));
  return {
    columns,
    rows: flat.map((row, index) => {
      const cells = names.map((name) => (Object.hasOwn(row, name) ? row[name] : ''));
      return arrivedRow(columns, rules.definitions, index + 1, cells);
    }),
  };
}

function withoutNesting({ customFields = {}, ...row }: JsonRow): Readonly<Record<string, unknown>> {
  const entries = Object.entries(customFields).map(([key, value]) => [`customFields.${key}`, value]);
  return { ...row, ...Object.fromEntries(entries) };
}
