import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { EmailQuotaService } from '#billing';
import { bounceClassesOf } from '#deliverability';
import type { ProjectScope } from '#kernel';
import {
  Database,
  doneUnlessAborted,
  type JobContext,
  type JobResult,
  jobType,
  keptDay,
  ResumableJob,
} from '#platform';
import { movingFrontBack } from '../deliveries/campaign-front.query.js';
import { wakeSenders } from '../deliveries/delivery-queue.query.js';
import type { Campaign } from './campaign.js';
import { CampaignRepository } from './campaign.repository.js';

const TEMPORARY = bounceClassesOf(({ mayPass }) => mayPass);
const CHUNK = 5_000;

/** Queues the deliveries again that ended in a temporary failure: `retry-failed` was accepted. */
export const retryFailedDeliveries = jobType<{ campaignId: string }>('campaigns.retry_failed', 'campaigns');

type SentCampaign = Pick<Campaign, 'id' | 'queuedAt'>;

/** Deliveries of a campaign that ended in a temporary failure, for `retry-failed`. */
@Injectable()
export class FailedDeliveriesService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly quota: EmailQuotaService,
  ) {}

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

  /** Queues those of a campaign again that is being retried, a chunk a transaction; it can be killed anywhere and goes on. */
  @ResumableJob(retryFailedDeliveries)
  async putBack(
    scope: ProjectScope,
    { campaignId }: { campaignId: string },
    { signal }: Pick<JobContext, 'signal'>,
  ): Promise<JobResult> {
    while (!signal.aborted && (await this.#putBackNext(scope, campaignId)));
    return doneUnlessAborted(signal);
  }

  /** True while there is more. With the last one the campaign may be finished. */
  #putBackNext(scope: ProjectScope, campaignId: string): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const campaign = await this.campaigns.lockById(scope, campaignId);
      if (campaign === null || campaign.retryFrom === null) return false;
      const { usagePeriod } = campaign;
      const count = await this.putBackChunk(scope, campaign, campaign.retryFrom);
      if (usagePeriod !== null) campaign.retryEmails = Math.max(0, campaign.retryEmails - count);
      if (count === 0) {
        if (usagePeriod !== null)
          await this.quota.settle(scope, usagePeriod, { used: 0, released: campaign.retryEmails });
        campaign.retryEmails = 0;
        campaign.retryFrom = null;
      }
      wakeSenders(this.database);
      return count > 0;
    });
  }

  /** Queues a chunk of those that ended until `from` again, as new ones of that moment; resolves to how many. */
  putBackChunk(scope: ProjectScope, campaign: SentCampaign, from: Date): Promise<number> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ count: number }>`
        with failed as materialized (
          select d.id, d.queued_on from messaging.deliveries d
          where ${temporarilyFailed(scope, campaign)} and d.finished_at <= ${from}
          limit ${CHUNK} for update
        ), opened as (
          update messaging.deliveries d set state = 'PENDING', attempt = 0, reason = null, last_error = null,
            created_at = ${from}, next_attempt_at = ${from}, due_since = null, finished_at = null
          from failed where d.id = failed.id and d.queued_on = failed.queued_on and d.environment_id = ${scope.environmentId}
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
  and d.environment_id = ${scope.environmentId}
  and d.state = 'FAILED' and d.reason is not null and d.reason = any(${TEMPORARY}::text[])
`;
