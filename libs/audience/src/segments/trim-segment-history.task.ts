import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock } from '#kernel';
import { Database, PeriodicTask } from '#platform';

const KEPT_MS = 7 * 24 * 3_600_000;
const CHUNK = 10_000;

/** Removes what nobody waits for any more: old entries and exits, and audiences of walks that were given up. */
@Injectable()
export class TrimSegmentHistory extends PeriodicTask {
  override readonly name = 'trim-segment-history';
  override readonly everyMs = 3_600_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const before = new Date(this.clock.now().getTime() - KEPT_MS);
    await this.#removeAll(sql`audience.segment_transitions`, sql`occurred_at < ${before}`);
    const forgotten = sql`select id from audience.frozen_audiences where frozen_at < ${before}`;
    await this.#removeAll(sql`audience.frozen_audience_members`, sql`audience_id in (${forgotten})`);
    await this.#removeAll(sql`audience.frozen_audiences`, sql`frozen_at < ${before}`);
  }

  async #removeAll(table: RawBuilder<unknown>, condition: RawBuilder<unknown>): Promise<void> {
    for (let removed = CHUNK; removed === CHUNK;) {
      removed = await this.database.system(async ({ db }) => {
        const { numAffectedRows = 0n } = await sql`
          delete from ${table} where ctid = any(array(select ctid from ${table} where ${condition} limit ${CHUNK}))
        `.execute(db);
        return Number(numAffectedRows);
      });
    }
  }
}
