import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { before, type OldRows, RemoveOldRows } from '#platform';

/** Longer than the longest request. */
const ABANDONED_AFTER_MS = 60 * 60_000;
const ERRORS_KEPT_MS = 30 * 24 * 60 * 60_000;

/** Removes rows of requests that died, and old errors and notes. */
@Injectable()
export class RemoveOldImports extends RemoveOldRows {
  override readonly name = 'remove-old-imports';
  override readonly everyMs = 10 * 60_000;

  protected override old(now: Date): OldRows[] {
    const isAbandoned = sql`status = 'RECEIVING' and created_at < ${before(now, ABANDONED_AFTER_MS)}`;
    const isForgotten = sql`completed_at < ${before(now, ERRORS_KEPT_MS)}`;
    const of = (which: typeof isAbandoned) =>
      sql`(import_id, environment_id) in (select id, environment_id from audience.imports where ${which})`;
    return [
      { table: 'audience.import_rows', where: of(isAbandoned) },
      { table: 'audience.imports', where: isAbandoned },
      { table: 'audience.import_errors', where: of(isForgotten) },
    ];
  }
}
