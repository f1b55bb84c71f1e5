import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database, plannedForValues } from '#platform';
import { type CheckedRow, type RowRange, type StagedRow, WHOLE_ROW } from './import.js';

/** Bytes of one COPY. A request holds two buffers of this size. */
const BATCH_BYTES = 512 * 1024;
/** Bytes of UTF-8 for a unit of a JavaScript string, at most. */
const MOST_BYTES = 3;

/** The columns in the order of `copyLine`. */
const STAGED_COLUMNS =
  'environment_id, import_id, row_number, line, email_key, cells, fault, email, external_id, first_name, last_name, phone, locale, time_zone, custom_fields';
const COPY = `copy audience.import_rows_staged (${STAGED_COLUMNS}) from stdin`;

/**
 * Buffers rows and sends them in batches: one buffer fills while the database receives the other. When both are full, the
 * client waits. The two buffers serve the whole file: new buffers for each batch, or rows kept as strings, would take far
 * more of Node's memory than their size.
 */
class StagingWriter {
  #gathered = Buffer.allocUnsafeSlow(BATCH_BYTES);
  #spare = Buffer.allocUnsafeSlow(BATCH_BYTES);
  #length = 0;
  #rows = 0;
  #sent: Promise<{ readonly error: unknown } | null> = Promise.resolve(null);

  constructor(
    private readonly copy: (data: Buffer) => Promise<void>,
    private readonly environmentId: number,
    private readonly importId: string,
  ) {}

  /** The number of rows written. */
  get rows(): number {
    return this.#rows;
  }

  async write(rows: readonly CheckedRow[]): Promise<void> {
    for (const row of rows) {
      const line = copyLine(`${this.environmentId}\t${this.importId}`, row);
      this.#rows += 1;
      const most = line.length * MOST_BYTES;
      if (this.#length + most > BATCH_BYTES) await this.#sendGathered();
      if (most > BATCH_BYTES) await this.#send(Buffer.from(line));
      else this.#length += this.#gathered.write(line, this.#length);
    }
  }

  /** Resolves when the database has all rows. */
  async flush(): Promise<void> {
    await this.#sendGathered();
    await this.#settled();
  }

  /** Resolves when the database has finished with all sent rows, whether it succeeded or failed. */
  async abandon(): Promise<void> {
    await this.#sent;
  }

  async #sendGathered(): Promise<void> {
    if (this.#length === 0) return;
    await this.#send(this.#gathered.subarray(0, this.#length));
    [this.#gathered, this.#spare] = [this.#spare, this.#gathered];
    this.#length = 0;
  }

  /** Resolves when the data sent before has arrived, and `data` is on its way. */
  async #send(data: Buffer): Promise<void> {
    await this.#settled();
    // The next caller gets the failure; until then it must not count as an unhandled rejection.
    this.#sent = this.copy(data).then(
      () => null,
      (error: unknown) => ({ error }),
    );
  }

  async #settled(): Promise<void> {
    const failure = await this.#sent;
    if (failure !== null) throw failure.error;
  }
}

/** A row in COPY's text format: tabs between columns, `\N` for null, and escaped backslashes. */
function copyLine(
  prefix: string,
  { row, line: fileLine, emailKey, cells, fault, newSubscriber }: CheckedRow,
): string {
  const line = `${prefix}\t${row}\t${fileLine ?? '\\N'}\t${shown(emailKey)}\t${shown(JSON.stringify(cells))}\t${shown(fault)}`;
  if (newSubscriber === null) return `${line}${'\t\\N'.repeat(8)}\n`;
  const { email, externalId, firstName, lastName, phone, locale, timeZone, customFields } = newSubscriber;
  const names = `${shown(email)}\t${shown(externalId)}\t${shown(firstName)}\t${shown(lastName)}\t${shown(phone)}`;
  return `${line}\t${names}\t${shown(locale)}\t${shown(timeZone)}\t${shown(JSON.stringify(customFields))}\n`;
}

function shown(text: string | null): string {
  if (text === null) return '\\N';
  // Control characters do not occur: JSON escapes them, faults have none, and fields with some make no subscriber.
  return text.includes('\\') ? text.replaceAll('\\', '\\\\') : text;
}

/** Rows that wait for the worker. All methods but `writer` run in the open transaction of the import's project. */
@Injectable()
export class StagedRowsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Writes the rows of an import as they come. Each batch is committed on its own, so that no connection waits for a client.
   * Queueing the import makes all of them durable.
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
    const { rows } = await sql<Omit<StagedRow, 'cells'> & { cells: string }>`
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
    // Keeps the hash table of a million addresses in memory. With old statistics a nested loop would read all rows for each.
    const setting = sql<{ count: number }>`
      /* set_repeated_rows_aside */ with repeated as (
        select email_key, max(row_number) as last, max(line) as last_line from audience.import_rows
        where environment_id = ${scope.environmentId} and import_id = ${importId} and email_key is not null
        group by email_key having count(*) > 1
      ), removed as (
        delete from audience.import_rows r using repeated d
        where r.environment_id = ${scope.environmentId} and r.import_id = ${importId}
          and r.email_key = d.email_key and r.row_number < d.last
        returning r.row_number, r.line, r.email_key, d.last, d.last_line
      ), noted as (
        insert into audience.import_errors (import_id, row_number, environment_id, line, email, email_key, errors)
        select ${importId}, row_number, ${scope.environmentId}, line, email_key, email_key,
          jsonb_build_object(
            ${WHOLE_ROW}::text,
            'has the address of row ' || last || coalesce(' in line ' || last_line, '') || ', which counts'
          )
        from removed
        returning row_number
      )
      select count(*) from removed
    `;
    const { rows } = await plannedForValues(this.database, { work_mem: '96MB', enable_nestloop: 'off' }, () =>
      setting.execute(this.database.tables()),
    );
    return rows[0]!.count;
  }

  async removeAll({ environmentId }: ProjectScope, importId: string): Promise<void> {
    await sql`
      delete from audience.import_rows where environment_id = ${environmentId} and import_id = ${importId}
    `.execute(this.database.tables());
  }
}
