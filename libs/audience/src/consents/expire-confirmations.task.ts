import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock } from '#kernel';
import { Database, drainEnvironments, PeriodicTask, environmentOf } from '#platform';
import { ConsentRepository } from './consent.repository.js';

const CHUNK = 1_000;

/** Sets consents that were not confirmed in time to EXPIRED, in all projects. */
@Injectable()
export class ExpireConfirmations extends PeriodicTask {
  override readonly name = 'expire-confirmations';
  override readonly everyMs = 60_000;

  constructor(
    private readonly database: Database,
    private readonly consents: ConsentRepository,
    private readonly clock: Clock,
  ) {
    super();
  }

  /** Skips subscribers whose consents are being changed; the next run takes them. */
  override async run(): Promise<void> {
    const expired = sql`audience.consents c
      where c.status = 'PENDING_CONFIRMATION' and c.token_expires_at <= ${this.clock.now()}`;
    await drainEnvironments(this.database, { rows: expired, batch: CHUNK }, (environmentId, most) =>
      this.#expire(environmentId, expired, most),
    );
  }

  /** Returns the number of subscribers whose consents expired. */
  async #expire(environmentId: number, expired: RawBuilder<unknown>, most: number): Promise<number> {
    const environment = environmentOf({ environmentId });
    const { rows } = await sql<{ id: string }>`
      select b.id from audience.subscribers b
      where b.environment_id = ${environment} and b.id in (
        select c.subscriber_id from ${expired} and c.environment_id = ${environment}
      )
      limit ${most} for update skip locked
    `.execute(this.database.tables());
    await this.consents.expire(
      { environmentId },
      rows.map(({ id }) => id),
    );
    return rows.length;
  }
}
