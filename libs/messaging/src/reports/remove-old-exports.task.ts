import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database, PeriodicTask } from '#platform';

const KEPT_MS = 60 * 60_000;

/** Report files are made for a client that waits: after an hour nobody does. */
@Injectable()
export class RemoveOldExports extends PeriodicTask {
  override readonly name = 'remove-old-exports';
  override readonly everyMs = 10 * 60_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const oldest = new Date(this.clock.now().getTime() - KEPT_MS);
    await this.database.system(async ({ db }) => {
      await sql`delete from messaging.exports where created_at < ${oldest}`.execute(db);
    });
  }
}
