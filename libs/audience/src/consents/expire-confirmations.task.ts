import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock } from '#kernel';
import { Database, PeriodicTask, type Sql } from '#platform';
import { refreshStatuses } from '../subscribers/subscriber.repository.js';
import { consentProof } from './consent-proof.js';
import { record } from './ledger.repository.js';

const CHUNK = 1_000;

/** Consents that nobody confirmed in time become EXPIRED, in all projects. */
@Injectable()
export class ExpireConfirmations extends PeriodicTask {
  override readonly name = 'expire-confirmations';
  override readonly everyMs = 60_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  /** Subscribers whose consents change at this moment are left for the next turn. */
  override async run(): Promise<void> {
    const now = this.clock.now();
    while ((await this.database.system(({ db }) => expireChunk(db, now))) === CHUNK);
  }
}

/** Returns how many subscribers it took; fewer than `CHUNK` at the end. */
async function expireChunk(db: Sql, now: Date): Promise<number> {
  const { rows: locked } = await sql<{ id: string }>`
    select b.id from audience.subscribers b
    where b.id in (
      select c.subscriber_id from audience.consents c
      where c.status = 'PENDING_CONFIRMATION' and c.token_expires_at <= ${now}
    )
    limit ${CHUNK} for update skip locked
  `.execute(db);
  const subscriberIds = locked.map(({ id }) => id);
  if (subscriberIds.length === 0) return 0;
  const { rows: expired } = await sql<{ environmentId: number; subscriberId: string; topicId: string }>`
    update audience.consents c set status = 'EXPIRED'
    where c.subscriber_id = any(${subscriberIds}::uuid[])
      and c.status = 'PENDING_CONFIRMATION' and c.token_expires_at <= ${now}
    returning c.environment_id as "environmentId", c.subscriber_id as "subscriberId", c.topic_id as "topicId"
  `.execute(db);
  const entries = expired.map(
    (consent) => ({ ...consent, from: 'PENDING_CONFIRMATION', to: 'EXPIRED' }) as const,
  );
  await record(db, entries, consentProof('EXPIRY', null), now);
  await refreshStatuses(db, subscriberIds, now);
  return subscriberIds.length;
}
