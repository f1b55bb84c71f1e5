import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database, PeriodicTask } from '#platform';

/** Longer than any request may take. */
const ABANDONED_AFTER_MS = 60 * 60_000;
const ERRORS_KEPT_MS = 30 * 24 * 60 * 60_000;

/** Removes what no request and no worker will take up: rows of requests that died, and what was noted long ago. */
@Injectable()
export class RemoveOldImports extends PeriodicTask {
  override readonly name = 'remove-old-imports';
  override readonly everyMs = 10 * 60_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const now = this.clock.now().getTime();
    const abandonedBefore = new Date(now - ABANDONED_AFTER_MS);
    const completedBefore = new Date(now - ERRORS_KEPT_MS);
    await this.database.system(async ({ db }) => {
      await sql`
        with abandoned as (
          delete from audience.imports where status = 'RECEIVING' and created_at < ${abandonedBefore} returning id
        )
        delete from audience.import_rows where import_id in (select id from abandoned)
      `.execute(db);
      await sql`
        delete from audience.import_errors
        where import_id in (select id from audience.imports where completed_at < ${completedBefore})
      `.execute(db);
    });
  }
}
