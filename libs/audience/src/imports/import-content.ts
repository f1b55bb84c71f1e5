import { DomainValidationError } from '#kernel';
import { CsvReader, type CsvRecord } from './csv-reader.js';
import {
  chooseColumns,
  type ChosenColumns,
  type ColumnRules,
  type ColumnTarget,
  targetOf,
} from './import-columns.js';
import { checkedRow } from './import-row.js';
import { type CheckedRow, ImportNotReadableError } from './import.js';

/** Byte order marks (Unicode §23.8), which overrule the client. */
const MARKS = [
  { mark: [0xef, 0xbb, 0xbf], charset: 'utf-8' },
  { mark: [0xff, 0xfe], charset: 'utf-16le' },
  { mark: [0xfe, 0xff], charset: 'utf-16be' },
] as const;
/** First bytes of files that are sent as CSV by mistake. */
const OTHER_FILES = [
  { start: [0x50, 0x4b, 0x03], what: 'is an Excel workbook or a ZIP archive: save the sheet as CSV' },
  { start: [0xd0, 0xcf, 0x11], what: 'is an Excel workbook: save the sheet as CSV' },
  { start: [0x1f, 0x8b], what: 'is compressed with gzip: send it uncompressed' },
] as const;
const LONGEST_MARK = 3;
const REPLACEMENT = '\ufffd';
const UTF_16 = 'send Content-Type: text/csv; charset=utf-16le if it is UTF-16 without a byte order mark';

/** Consecutive rows of an import, with the fields of their columns, which are the same in all its batches. */
export interface ImportBatch {
  readonly columns: readonly ColumnTarget[];
  readonly rows: readonly CheckedRow[];
}

/** A row of a list: column → value, and the custom fields in an object of their own, or among the columns. */
export interface JsonRow {
  readonly [column: string]: unknown;
  readonly customFields?: Readonly<Record<string, unknown>> | undefined;
}

/** A CSV file as its bytes arrive, with its encoding unless a byte order mark overrules it; or a list. */
export type ImportContent =
  | { readonly csv: AsyncIterable<Uint8Array>; readonly charset: string }
  | { readonly rows: readonly JsonRow[] };

/** The checked rows of the content. Throws ImportNotReadableError, DomainValidationError. */
export function batchesOf(
  content: ImportContent,
  rules: ColumnRules,
): AsyncIterable<ImportBatch> | Iterable<ImportBatch> {
  return 'csv' in content ? csvRows(content.csv, content.charset, rules) : [jsonRows(content.rows, rules)];
}

/** Throws ImportNotReadableError, DomainValidationError. */
function acceptedColumns({ targets, faults, unknown }: ChosenColumns): readonly ColumnTarget[] {
  if (Object.keys(faults).length > 0) throw new ImportNotReadableError({ ...faults, ...unknown });
  if (Object.keys(unknown).length > 0) throw new DomainValidationError(unknown);
  return targets;
}

/**
 * The rows of a CSV file as its bytes arrive; the first batch comes with the header. Throws ImportNotReadableError,
 * DomainValidationError.
 */
async function* csvRows(
  body: AsyncIterable<Uint8Array>,
  charset: string,
  rules: ColumnRules,
): AsyncGenerator<ImportBatch> {
  const table = new CsvTable(rules);
  const reader = new CsvReader((header) => table.open(header));
  const decoded = textDecoder(charset, () => reader.line);
  for await (const bytes of body) yield* table.batch(reader.push(decoded(bytes)));
  yield* table.batch(reader.push(decoded()));
  yield* table.batch(reader.end());
  table.refuseEmpty();
}

/** Numbers the records after the header and knows the field of each column. */
class CsvTable {
  #columns: readonly ColumnTarget[] | null = null;
  #lastRow = 0;

  constructor(private readonly rules: ColumnRules) {}

  /** Reads the names of the columns and returns the place of the address. */
  open(header: CsvRecord): number {
    this.#columns = columnsOf(header, this.rules);
    return this.#columns.indexOf('email');
  }

  *batch(records: readonly CsvRecord[]): Generator<ImportBatch> {
    const columns = this.#columns;
    if (columns !== null) yield { columns, rows: records.map((record) => this.#checked(columns, record)) };
  }

  refuseEmpty(): void {
    if (this.#columns === null) {
      throw new ImportNotReadableError({ body: 'is empty: the first row must name the columns' });
    }
  }

  #checked(columns: readonly ColumnTarget[], { cells, fault, line }: CsvRecord): CheckedRow {
    this.#lastRow += 1;
    const row = this.#lastRow;
    if (fault !== null) return { row, line, emailKey: null, cells: [], fault, newSubscriber: null };
    return checkedRow(columns, this.rules.definitions, { row, line }, cells);
  }
}

function columnsOf({ cells, fault }: CsvRecord, rules: ColumnRules): readonly ColumnTarget[] {
  if (fault !== null) throw new ImportNotReadableError({ columns: fault });
  if (cells.some((cell) => cell.includes('\0'))) {
    throw new ImportNotReadableError({ body: `has NUL characters in its first row: ${UTF_16}` });
  }
  const chosen = chooseColumns(cells, rules, (index) => `columns[${index}]`);
  if (chosen.targets.includes('email')) return acceptedColumns(chosen);
  const missing = { columns: 'has no email: the first row must name the columns' };
  return acceptedColumns({ ...chosen, faults: { ...missing, ...chosen.faults } });
}

/** True for the name of an encoding (WHATWG Encoding §4.2), such as `windows-1252`. */
export function isCharset(name: string): boolean {
  try {
    return new TextDecoder(name).encoding !== '';
  } catch {
    return false;
  }
}

/**
 * Decodes a file piece by piece, the end without one, by its byte order mark, which it removes, else by `charset`. Throws
 * ImportNotReadableError for bytes that are not text; `line` is the line at the start of the piece.
 */
function textDecoder(charset: string, line: () => number): (bytes?: Uint8Array) => string {
  let head = Buffer.alloc(0);
  let decoder: InstanceType<typeof TextDecoder> | null = null;
  return (bytes) => {
    let given = bytes ?? Buffer.alloc(0);
    if (decoder === null) {
      head = Buffer.concat([head, given]);
      if (head.length < LONGEST_MARK && bytes !== undefined) return '';
      refuseOtherFile(head);
      decoder = new TextDecoder(markedCharset(head) ?? charset, { fatal: true });
      given = head;
    }
    try {
      return decoder.decode(given, { stream: bytes !== undefined });
    } catch {
      throw notText(decoder.encoding, line() + breaksBefore(decoder.encoding, given));
    }
  };
}

function markedCharset(head: Buffer): string | null {
  return MARKS.find(({ mark }) => beginsWith(head, mark))?.charset ?? null;
}

function refuseOtherFile(head: Buffer): void {
  const other = OTHER_FILES.find(({ start }) => beginsWith(head, start));
  if (other !== undefined) throw new ImportNotReadableError({ body: other.what });
}

function beginsWith(head: Buffer, start: readonly number[]): boolean {
  return start.every((byte, at) => head[at] === byte);
}

function breaksBefore(encoding: string, bytes: Uint8Array): number {
  const text = new TextDecoder(encoding).decode(bytes).split(REPLACEMENT, 1)[0]!;
  return text.match(/\r\n|\n|\r/g)?.length ?? 0;
}

function notText(encoding: string, line: number): ImportNotReadableError {
  const otherwise = 'name its encoding, as in Content-Type: text/csv; charset=windows-1252';
  return new ImportNotReadableError({
    body: `is not ${encoding.toUpperCase()}, in line ${line} or behind it: ${otherwise}`,
  });
}

/** The rows of a list. Throws ImportNotReadableError, DomainValidationError. */
function jsonRows(rows: readonly JsonRow[], rules: ColumnRules): ImportBatch {
  const flat = writtenAlike(rows.map(withoutNesting), rules);
  const paths = new Map<string, string>();
  flat.forEach((row, index) => {
    for (const name of Object.keys(row)) if (!paths.has(name)) paths.set(name, `rows[${index}].${name}`);
  });
  const names = [...paths.keys()];
  const pathOf = (index: number): string => paths.get(names[index]!)!;
  const chosen = chooseColumns(names, rules, pathOf);
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
function writtenAlike(
  rows: readonly FlatRow[],
  { columns, mapping, definitions }: ColumnRules,
): readonly FlatRow[] {
  const keys = new Set(definitions.map(({ key }) => key));
  const nameOf = new Map<ColumnTarget, string>();
  const firsts = new Map<string, string>();
  const firstOf = (name: string): string => {
    const known = firsts.get(name);
    if (known !== undefined) return known;
    const target = Object.hasOwn(mapping, name.trim()) ? null : targetOf(name.trim(), columns, keys);
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
