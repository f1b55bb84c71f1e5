import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { type StagedRow, WHOLE_ROW } from './import.js';
import type { RowRange } from './row-ranges.js';
import { STAGED_COLUMNS, StagingWriter } from './staging-writer.js';

const COPY = `copy audience.import_rows_staged (${STAGED_COLUMNS}) from stdin`;

/**
 * Rows that a request has stored and the worker has not applied yet. All methods but `writer` run in the open transaction
 * of the import's project.
 */
@Injectable()
export class StagedRows {
  constructor(private readonly database: Database) {}

  /**
   * Takes the rows of an import as they come. Each batch is committed on its own, so that no connection waits for a
   * client; not durably before the import is queued, which is durable with all that was committed before it.
   */
  writer(scope: ProjectScope, importId: string): StagingWriter {
    const copy = (data: Buffer) => this.database.copy(scope, COPY, data, { isDurable: false });
    return new StagingWriter(copy, scope.environmentId, importId);
  }

  /** The first remaining row, or null. */
  async firstRow({ environmentId }: ProjectScope, importId: string): Promise<number | null> {
    const { rows } = await sql<{ first: number | null }>`
      select min(row_number) as first from audience.import_rows
      where environment_id = ${environmentId} and import_id = ${importId}
    `.execute(this.database.tables());
    return rows[0]!.first;
  }

  /**
   * Locks the addresses in these rows until the transaction ends, as `addressLock` does for one. Returns the number of
   * rows.
   */
  async lockAddresses(scope: ProjectScope, importId: string, { first, last }: RowRange): Promise<number> {
    // In one order, so that two imports cannot deadlock.
    const { rows } = await sql<{ rows: number }>`
      select count(pg_advisory_xact_lock(hashtextextended(${`${scope.environmentId}:`}::text || r.email_key, 0))) as locked,
        count(*) as rows
      from (
        select email_key from audience.import_rows
        where environment_id = ${scope.environmentId} and import_id = ${importId}
          and row_number between ${first} and ${last}
        order by email_key
      ) r
    `.execute(this.database.tables());
    return rows[0]!.rows;
  }

  /** Removes and returns the remaining rows of a range, in order. */
  async take(
    { environmentId }: ProjectScope,
    importId: string,
    { first, last }: RowRange,
  ): Promise<StagedRow[]> {
    const { rows } = await sql<StagedRow & { cells: string }>`
      delete from audience.import_rows
      where environment_id = ${environmentId} and import_id = ${importId} and row_number between ${first} and ${last}
      returning row_number as "row", line, email_key, cells, fault
    `.execute(this.database.tables());
    return rows
      .map((row) => ({ ...row, cells: JSON.parse(row.cells) as unknown[] }))
      .sort((one, other) => one.row - other.row);
  }

  /**
   * Removes the rows whose address appears again in a later row, with a note for each: the last row counts. Returns their
   * number.
   */
  async setRepeatedAside(scope: ProjectScope, importId: string): Promise<number> {
    // The hash table of a million addresses need not go to disk. While the table grows from nothing, its statistics
    // know none of these rows, and a nested loop would read all of them again for each.
    await sql`set local work_mem = '96MB'`.execute(this.database.tables());
    await sql`set local enable_nestloop = off`.execute(this.database.tables());
    const { rows } = await sql<{ count: number }>`
      with repeated as (
        select email_key, max(row_number) as last, max(line) as last_line from audience.import_rows
        where environment_id = ${scope.environmentId} and import_id = ${importId} and email_key is not null group by email_key having count(*) > 1
      ), removed as (
        delete from audience.import_rows r using repeated d
        where r.environment_id = ${scope.environmentId} and r.import_id = ${importId} and r.email_key = d.email_key and r.row_number < d.last
        returning r.row_number, r.line, r.email_key, d.last, d.last_line
      ), noted as (
        insert into audience.import_errors (import_id, row_number, environment_id, line, email, email_key, errors)
        select ${importId}, row_number, ${scope.environmentId}, line, email_key, email_key,
          jsonb_build_object(${WHOLE_ROW}::text, 'has the address of row ' || last || coalesce(' in line ' || last_line, '') || ', which counts')
        from removed
        returning row_number
      )
      select count(*) from removed
    `.execute(this.database.tables());
    await sql`set local work_mem to default`.execute(this.database.tables());
    await sql`set local enable_nestloop to default`.execute(this.database.tables());
    return rows[0]!.count;
  }

  async removeAll({ environmentId }: ProjectScope, importId: string): Promise<void> {
    await sql`
      delete from audience.import_rows where environment_id = ${environmentId} and import_id = ${importId}
    `.execute(this.database.tables());
  }
}
