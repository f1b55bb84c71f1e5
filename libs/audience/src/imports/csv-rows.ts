import { CsvReader, type CsvRecord } from './csv-reader.js';
import { acceptedColumns, type ColumnRules, type ImportBatch } from './import-batch.js';
import { chooseColumns, type ColumnTarget } from './import-columns.js';
import { ImportNotReadableError } from './import.errors.js';
import { checkedRow } from './import-row.js';
import type { CheckedRow } from './import.js';

/**
 * The rows of a CSV file in UTF-8, as its bytes arrive; the first batch comes with the header. Throws
 * ImportNotReadableError, DomainValidationError.
 */
export async function* csvRows(
  body: AsyncIterable<Uint8Array>,
  rules: ColumnRules,
): AsyncGenerator<ImportBatch> {
  // Takes the byte order mark away.
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = new CsvReader();
  const table = new CsvTable(rules);
  const decoded = (bytes?: Uint8Array): string => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
    } catch {
      throw new ImportNotReadableError({ body: `is not UTF-8, somewhere after row ${table.lastRow}` });
    }
  };
  for await (const bytes of body) yield* table.take(reader.push(decoded(bytes)));
  yield* table.take(reader.push(decoded()));
  yield* table.take(reader.end());
  table.refuseEmpty();
}

/** Numbers the records after the header and knows the field of each column. */
class CsvTable {
  #columns: readonly ColumnTarget[] | null = null;
  lastRow = 0;

  constructor(private readonly rules: ColumnRules) {}

  *take(records: readonly CsvRecord[]): Generator<ImportBatch> {
    let rest = records;
    if (this.#columns === null) {
      const header = records[0];
      if (header === undefined) return;
      this.#columns = columnsOf(header, this.rules);
      rest = records.slice(1);
      yield { columns: this.#columns, rows: [] };
    }
    const columns = this.#columns;
    if (rest.length > 0) yield { columns, rows: rest.map((record) => this.#staged(columns, record)) };
  }

  refuseEmpty(): void {
    if (this.#columns === null) {
      throw new ImportNotReadableError({ body: 'is empty: the first row must name the columns' });
    }
  }

  #staged(columns: readonly ColumnTarget[], { cells, fault }: CsvRecord): CheckedRow {
    this.lastRow += 1;
    const row = this.lastRow;
    const reason =
      fault ??
      (cells.length === columns.length ? null : `has ${cells.length} cells instead of ${columns.length}`);
    if (reason !== null) return { row, emailKey: null, cells: [], fault: reason, newSubscriber: null };
    return checkedRow(columns, this.rules.definitions, row, cells);
  }
}

function columnsOf(
  { cells, fault }: CsvRecord,
  { mapping, definitions }: ColumnRules,
): readonly ColumnTarget[] {
  if (fault !== null) throw new ImportNotReadableError({ columns: fault });
  const chosen = chooseColumns(cells, mapping, definitions, (index) => `columns[${index}]`);
  if (chosen.targets.includes('email')) return acceptedColumns(chosen);
  const missing = { columns: 'has no email: the first row must name the columns' };
  return acceptedColumns({ ...chosen, faults: { ...missing, ...chosen.faults } });
}
