import { CsvReader, type CsvRecord } from './csv-reader.js';
import { textDecoder } from './csv-text.js';
import { acceptedColumns, type ColumnRules, type ImportBatch } from './import-batch.js';
import { chooseColumns, type ColumnTarget } from './import-columns.js';
import { ImportNotReadableError } from './import.errors.js';
import { checkedRow } from './import-row.js';
import type { CheckedRow } from './import.js';

const UTF_16 = 'send Content-Type: text/csv; charset=utf-16le if it is UTF-16 without a byte order mark';

/**
 * The rows of a CSV file as its bytes arrive; the first batch comes with the header. Throws ImportNotReadableError,
 * DomainValidationError.
 */
export async function* csvRows(
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

function columnsOf(
  { cells, fault }: CsvRecord,
  { mapping, definitions }: ColumnRules,
): readonly ColumnTarget[] {
  if (fault !== null) throw new ImportNotReadableError({ columns: fault });
  if (cells.some((cell) => cell.includes('\0'))) {
    throw new ImportNotReadableError({ body: `has NUL characters in its first row: ${UTF_16}` });
  }
  const chosen = chooseColumns(cells, mapping, definitions, (index) => `columns[${index}]`);
  if (chosen.targets.includes('email')) return acceptedColumns(chosen);
  const missing = { columns: 'has no email: the first row must name the columns' };
  return acceptedColumns({ ...chosen, faults: { ...missing, ...chosen.faults } });
}
