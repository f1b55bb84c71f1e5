import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { type StagedRow, WHOLE_ROW } from './import.js';
import type { RowRange } from './row-ranges.js';

/** Bytes of one COPY: what a request holds of its rows. */
const BATCH_BYTES = 512 * 1024;
const COPY = 'copy audience.import_rows_staged (import_id, row_number, email_key, cells, fault) from stdin';

/** Rows between the request that brought them and the worker that applies them. */
@Injectable()
export class StagedRows {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Takes the rows of an import as they come. Each batch is committed on its own, so that no connection waits for a client. */
  writer(scope: ProjectScope, importId: string): StagingWriter {
    return new StagingWriter((data) => this.database.copy(scope, COPY, data), importId);
  }

  /** The first row that is left, or null. */
  firstRow(scope: ProjectScope, importId: string): Promise<number | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ first: number | null }>`
        select min(row_number) as first from audience.import_rows where import_id = ${importId}
      `.execute(db);
      return rows[0]!.first;
    });
  }

  /** The rows of a range that are left, in their order. */
  read(scope: ProjectScope, importId: string, { first, last }: RowRange): Promise<StagedRow[]> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<StagedRow & { cells: string }>`
        select row_number as "row", email_key as "emailKey", cells, fault from audience.import_rows
        where import_id = ${importId} and row_number between ${first} and ${last} order by row_number
      `.execute(db);
      return rows.map((row) => ({ ...row, cells: JSON.parse(row.cells) as unknown[] }));
    });
  }

  /**
   * Takes out the rows whose address comes again in a later one, and notes each: the last row counts. Returns how
   * many they were.
   */
  setRepeatedAside(scope: ProjectScope, importId: string): Promise<number> {
    return this.database.transaction(scope, async ({ db }) => {
      // The hash table of a million addresses need not go to disk.
      await sql`set local work_mem = '96MB'`.execute(db);
      const { rows } = await sql<{ count: number }>`
        with repeated as (
          select email_key, max(row_number) as last from audience.import_rows
          where import_id = ${importId} and email_key is not null group by email_key having count(*) > 1
        ), removed as (
          delete from audience.import_rows r using repeated d
          where r.import_id = ${importId} and r.email_key = d.email_key and r.row_number < d.last
          returning r.row_number, r.email_key, d.last
        ), noted as (
          insert into audience.import_errors (import_id, row_number, environment_id, email, email_key, errors)
          select ${importId}, row_number, ${scope.environmentId}, email_key, email_key,
            jsonb_build_object(${WHOLE_ROW}::text, 'has the address of row ' || last || ', which counts')
          from removed
        )
        select count(*) from removed
      `.execute(db);
      await sql`set local work_mem to default`.execute(db);
      return rows[0]!.count;
    });
  }

  /**
   * Takes the rows of a range out, as done. Returns each with the fault that it has by now: somebody may have been
   * erased since it was read.
   */
  take(
    scope: ProjectScope,
    importId: string,
    { first, last }: RowRange,
  ): Promise<ReadonlyMap<number, string | null>> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Pick<StagedRow, 'row' | 'fault'>>`
        delete from audience.import_rows where import_id = ${importId} and row_number between ${first} and ${last}
        returning row_number as "row", fault
      `.execute(db);
      return new Map(rows.map(({ row, fault }) => [row, fault]));
    });
  }

  removeAll(scope: ProjectScope, importId: string): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`delete from audience.import_rows where import_id = ${importId}`.execute(db);
    });
  }
}

/** Gathers rows and sends them in batches; waits for the database, and so makes the client wait. */
export class StagingWriter {
  #lines: string[] = [];
  #length = 0;
  #rows = 0;

  constructor(
    private readonly copy: (data: Buffer) => Promise<void>,
    private readonly importId: string,
  ) {}

  /** How many rows it took. */
  get rows(): number {
    return this.#rows;
  }

  async write(rows: readonly StagedRow[]): Promise<void> {
    for (const row of rows) {
      const line = copyLine(this.importId, row);
      this.#lines.push(line);
      this.#length += line.length;
      this.#rows += 1;
      if (this.#length > BATCH_BYTES) await this.flush();
    }
  }

  async flush(): Promise<void> {
    if (this.#lines.length === 0) return;
    const data = Buffer.from(this.#lines.join(''));
    this.#lines = [];
    this.#length = 0;
    await this.copy(data);
  }
}

/** COPY's text format: tabs between columns, `\N` for null, and a backslash before what would mean something. */
function copyLine(importId: string, { row, emailKey, cells, fault }: StagedRow): string {
  const columns = [importId, String(row), emailKey, JSON.stringify(cells), fault];
  return `${columns.map((text) => (text === null ? '\\N' : escaped(text))).join('\t')}\n`;
}

function escaped(text: string): string {
  // Control characters do not occur: JSON escapes them, an address has none.
  return text.includes('\\') ? text.replaceAll('\\', '\\\\') : text;
}
