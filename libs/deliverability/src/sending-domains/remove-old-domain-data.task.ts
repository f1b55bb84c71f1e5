import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database, PeriodicTask } from '#platform';
import { RETIRED_KEY_KEPT_MS } from './dns-instructions.js';

const CHECKS_KEPT_MS = 60 * 60_000;

/** Forgets checks that nobody waits for any more, and keys whose last mail has long arrived. */
@Injectable()
export class RemoveOldDomainData extends PeriodicTask {
  override readonly name = 'remove-old-domain-data';
  override readonly everyMs = 10 * 60_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const now = this.clock.now().getTime();
    const oldestCheck = new Date(now - CHECKS_KEPT_MS);
    const oldestKey = new Date(now - RETIRED_KEY_KEPT_MS);
    await this.database.system(async ({ db }) => {
      await sql`delete from deliverability.domain_checks where created_at < ${oldestCheck}`.execute(db);
      await sql`delete from deliverability.dkim_keys where retired_at < ${oldestKey}`.execute(db);
    });
  }
}
