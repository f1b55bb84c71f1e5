import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database, drain, PeriodicTask } from '#platform';
import { ConsentWriter } from '../consents/consent-writer.repository.js';

const CHUNK = 1_000;

/** Sets consents that were not confirmed in time to EXPIRED, in all projects. */
@Injectable()
export class ExpireConfirmations extends PeriodicTask {
  override readonly name = 'expire-confirmations';
  override readonly everyMs = 60_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ConsentWriter) private readonly consents: ConsentWriter,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  /** Skips subscribers whose consents are being changed; the next run takes them. */
  override async run(): Promise<void> {
    const now = this.clock.now();
    await drain(CHUNK, () => this.#expireChunk(now));
  }

  /** Returns the number of subscribers processed; fewer than `CHUNK` at the end. */
  #expireChunk(now: Date): Promise<number> {
    return this.database.system(async () => {
      const { rows } = await sql<{ id: string }>`
        select b.id from audience.subscribers b
        where b.id in (
          select c.subscriber_id from audience.consents c
          where c.status = 'PENDING_CONFIRMATION' and c.token_expires_at <= ${now}
        )
        limit ${CHUNK} for update skip locked
      `.execute(this.database.tables());
      await this.consents.expire(rows.map(({ id }) => id));
      return rows.length;
    });
  }
}
