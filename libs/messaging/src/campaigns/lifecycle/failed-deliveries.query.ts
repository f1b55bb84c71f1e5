import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { bounceClassesOf } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { Database, environmentOf, isOf, keptDay } from '#platform';
import { movingFrontBack } from '../../deliveries/campaign-front.query.js';
import type { Campaign } from '../campaign.js';

const TEMPORARY = bounceClassesOf(({ mayPass }) => mayPass);
const CHUNK = 5_000;

type SentCampaign = Pick<Campaign, 'id' | 'queuedAt'>;

/** Deliveries that ended in a temporary failure. */
@Injectable()
export class FailedDeliveriesQuery {
  constructor(private readonly database: Database) {}

  count(scope: ProjectScope, campaign: SentCampaign): Promise<number> {
    return this.database.transaction(scope, async () => {
      const day = await keptDay(this.database, scope, 'DELIVERIES');
      const { rows } = await sql<{ count: number }>`
        select count(*) from messaging.deliveries d
        where ${temporarilyFailed(scope, campaign)} and d.queued_on >= ${day}::date
      `.execute(this.database.tables());
      return rows[0]?.count ?? 0;
    });
  }

  /** Queues a chunk of those that ended until `from` again, as new ones of that moment; resolves to how many. */
  putBack(scope: ProjectScope, campaign: SentCampaign, from: Date): Promise<number> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ count: number }>`
        with failed as materialized (
          select d.id, d.queued_on from messaging.deliveries d
          where ${temporarilyFailed(scope, campaign)} and d.finished_at <= ${from}
          limit ${CHUNK} for update
        ), opened as (
          update messaging.deliveries d set state = 'PENDING', attempt = 0, reason = null, last_error = null,
            created_at = ${from}, next_attempt_at = ${from}, due_since = null, finished_at = null
          from failed where d.id = failed.id and d.queued_on = failed.queued_on and d.environment_id = ${environmentOf(scope)}
          returning d.next_attempt_at, d.id
        ), front as (${movingFrontBack(scope, campaign.id, sql`opened`)})
        select count(*) from opened
      `.execute(this.database.tables());
      return rows[0]?.count ?? 0;
    });
  }
}

const temporarilyFailed = (scope: ProjectScope, { id, queuedAt }: SentCampaign): RawBuilder<unknown> => sql`
  d.source_id = ${id} and d.kind = 'CAMPAIGN' and d.queued_on = (${queuedAt}::timestamptz at time zone 'UTC')::date
  and ${isOf(scope, sql`d.environment_id`)} and d.state = 'FAILED' and d.reason is not null and d.reason = any(${TEMPORARY}::text[])
`;
