import { acceptedColumns, type ColumnRules, type ImportBatch } from './import-batch.js';
import { chooseColumns, type ColumnTarget, targetOf } from './import-columns.js';
import { checkedRow } from './import-row.js';

/** A row of a list: column → value, and the custom fields in an object of their own, or among the columns. */
export interface JsonRow {
  readonly [column: string]: unknown;
  readonly customFields?: Readonly<Record<string, unknown>> | undefined;
}

/** The rows of a list. Throws ImportNotReadableError, DomainValidationError. */
export function jsonRows(rows: readonly JsonRow[], rules: ColumnRules): ImportBatch {
  const flat = writtenAlike(rows.map(withoutNesting), rules);
  const paths = new Map<string, string>();
  flat.forEach((row, index) => {
    for (const name of Object.keys(row)) if (!paths.has(name)) paths.set(name, `rows[${index}].${name}`);
  });
  const names = [...paths.keys()];
  const pathOf = (index: number): string => paths.get(names[index]!)!;
  const chosen = chooseColumns(names, rules.mapping, rules.definitions, pathOf);
  const columns = acceptedColumns({ ...chosen, faults: { ...chosen.faults, ...writtenTwice(rows) } });
  return {
    columns,
    rows: flat.map((row, index) => {
      const cells = names.map((name) => (Object.hasOwn(row, name) ? row[name] : ''));
      return checkedRow(columns, rules.definitions, { row: index + 1, line: null }, cells);
    }),
  };
}

type FlatRow = Readonly<Record<string, unknown>>;

/**
 * Rows may use different names for a field, such as `firstName` and `first_name`. All get the name that appears first,
 * except in rows that have both.
 */
function writtenAlike(rows: readonly FlatRow[], { mapping, definitions }: ColumnRules): readonly FlatRow[] {
  const keys = new Set(definitions.map(({ key }) => key));
  const nameOf = new Map<ColumnTarget, string>();
  const firsts = new Map<string, string>();
  const firstOf = (name: string): string => {
    const known = firsts.get(name);
    if (known !== undefined) return known;
    const target = Object.hasOwn(mapping, name.trim()) ? null : targetOf(name.trim(), keys);
    const first = target === null ? name : (nameOf.get(target) ?? name);
    nameOf.set(target, first);
    firsts.set(name, first);
    return first;
  };
  return rows.map((row) => {
    const written: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(row)) {
      const first = firstOf(name);
      const isFree = !Object.hasOwn(row, first) && !Object.hasOwn(written, first);
      written[isFree ? first : name] = value;
    }
    return written;
  });
}

/** The custom fields that a row has in its object and beside it under the same name. */
function writtenTwice(rows: readonly JsonRow[]): Readonly<Record<string, string>> {
  const twice = rows.flatMap((row, index) =>
    Object.keys(row.customFields ?? {})
      .map((key) => `customFields.${key}`)
      .filter((name) => Object.hasOwn(row, name))
      .map((name) => [`rows[${index}].${name}`, `holds ${name} again`] as const),
  );
  return Object.fromEntries(twice);
}

function withoutNesting({ customFields = {}, ...row }: JsonRow): FlatRow {
  const entries = Object.entries(customFields).map(([key, value]) => [`customFields.${key}`, value]);
  return { ...row, ...Object.fromEntries(entries) };
}
