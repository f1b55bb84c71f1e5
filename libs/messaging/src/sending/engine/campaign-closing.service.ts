import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { EmailQuota } from '#billing';
import { Clock, type ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import type { CampaignStatus } from '../../campaigns/campaign-status.js';
import { isInDoubt } from './delivery-claims.query.js';

const CHUNK = 5_000;

interface ClosingCampaign {
  readonly id: string;
  readonly status: CampaignStatus;
  readonly queued_on: string;
  readonly usage_period: Date | null;
}

interface ClosedChunk {
  readonly cancelled: number;
  readonly unknown: number;
}

/** Ends the open deliveries of a campaign that was cancelled or failed, a chunk a transaction. */
@Injectable()
export class CampaignClosingService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(EmailQuota) private readonly quota: EmailQuota,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * `waiting` while some are on a wire: their sender records how they ended, or its lease runs out. It can be
   * killed anywhere and goes on.
   */
  async close(scope: ProjectScope, campaignId: string, signal: AbortSignal): Promise<'closed' | 'waiting'> {
    while (!signal.aborted) {
      const step = await this.#closeChunk(scope, campaignId);
      if (step !== 'more') return step;
    }
    return 'waiting';
  }

  #closeChunk(scope: ProjectScope, campaignId: string): Promise<'more' | 'closed' | 'waiting'> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<ClosingCampaign>`
        select id, status, (queued_at at time zone 'UTC')::date as queued_on, usage_period from messaging.campaigns
        where id = ${campaignId} and environment_id = ${scope.environmentId} and closing_since is not null
        for update
      `.execute(db);
      const campaign = rows[0];
      if (campaign === undefined) return 'closed';
      const { cancelled, unknown } = await endOpen(db, campaign, this.clock.now());
      if (campaign.usage_period !== null)
        await this.quota.settle(scope, campaign.usage_period, { used: unknown, released: cancelled });
      if (cancelled + unknown > 0) return 'more';
      const { numAffectedRows } = await sql`
        update messaging.campaigns c set closing_since = null
        where c.id = ${campaignId} and not exists (select from messaging.deliveries d where ${openOf(campaign)})
      `.execute(db);
      return numAffectedRows === 1n ? 'closed' : 'waiting';
    });
  }
}

const openOf = ({ id, queued_on }: ClosingCampaign) => sql`
  d.source_id = ${id} and d.kind = 'CAMPAIGN' and d.queued_on = ${queued_on}::date and d.finished_at is null
`;

/**
 * What is claimed and not on a wire is taken from its sender, whose lease ends with it. What was on the wire of a
 * sender that died may have arrived.
 */
async function endOpen(db: Sql, campaign: ClosingCampaign, now: Date): Promise<ClosedChunk> {
  const reason = campaign.status === 'FAILED' ? 'campaign-failed' : 'campaign-cancelled';
  const inDoubt = sql`coalesce(${isInDoubt('d', sql`(select epoch from present)`)}, false)`;
  const { rows } = await sql<ClosedChunk>`
    with present as materialized (select messaging.current_era() as epoch), open as materialized (
      select d.id, d.queued_on, ${inDoubt} as in_doubt from messaging.deliveries d
      where ${openOf(campaign)} and (not ${inDoubt} or d.lease_until <= ${now})
      limit ${CHUNK} for update of d skip locked
    ), ended as (
      update messaging.deliveries d set
        state = case when open.in_doubt then 'AMBIGUOUS' else 'CANCELLED' end,
        reason = case when open.in_doubt then 'no-reply' else ${reason} end,
        finished_at = ${now}, lease_token = null, lease_until = null, lease_era = null
      from open where d.id = open.id and d.queued_on = open.queued_on
      returning d.state
    )
    select count(*) filter (where state = 'CANCELLED') as cancelled, count(*) filter (where state = 'AMBIGUOUS') as unknown
    from ended
  `.execute(db);
  return rows[0] ?? { cancelled: 0, unknown: 0 };
}
