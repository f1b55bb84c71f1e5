import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { EmailQuota } from '#billing';
import { Clock, type ProjectScope } from '#kernel';
import { Database, environmentOf, unleased } from '#platform';
import type { CampaignStatus } from '../../campaigns/campaign-status.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { PARTITION } from '../../deliveries/partition.query.js';
import { isInDoubt } from './delivery-claims.query.js';
import { epochOf } from './server-epoch.query.js';

const CHUNK = 5_000;

interface ClosingCampaign {
  readonly id: string;
  readonly status: CampaignStatus;
  readonly queuedOn: string;
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
    return this.database.transaction(scope, async () => {
      const campaign = await this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.campaigns as c')
        .select(['c.id', 'c.status', 'c.usagePeriod', PARTITION.as('queuedOn')])
        .where('c.id', '=', campaignId)
        .where('c.environmentId', '=', scope.environmentId)
        .where('c.closingSince', 'is not', null)
        .forUpdate()
        .executeTakeFirst();
      if (campaign === undefined) return 'closed';
      const { cancelled, unknown } = await this.#endOpen(scope, campaign);
      if (campaign.usagePeriod !== null)
        await this.quota.settle(scope, campaign.usagePeriod, { used: unknown, released: cancelled });
      if (cancelled + unknown > 0) return 'more';
      const { numAffectedRows } = await sql`
        update messaging.campaigns c set closing_since = null
        where c.id = ${campaignId} and c.environment_id = ${environmentOf(scope)}
          and not exists (select 1 from messaging.deliveries d where ${openOf(scope, campaign)})
      `.execute(this.database.tables());
      return numAffectedRows === 1n ? 'closed' : 'waiting';
    });
  }

  /**
   * What is claimed and not on a wire is taken from its sender, whose lease ends with it. What was on the wire of a
   * sender that died may have arrived.
   */
  async #endOpen(scope: ProjectScope, campaign: ClosingCampaign): Promise<ClosedChunk> {
    const now = this.clock.now();
    const reason = campaign.status === 'FAILED' ? 'campaign-failed' : 'campaign-cancelled';
    const inDoubt = sql`coalesce(${isInDoubt('d', sql`(select epoch from present)`)}, false)`;
    const { rows } = await sql<ClosedChunk>`
      with present as materialized (select ${epochOf(scope)} as epoch), open as materialized (
        select d.id, d.queued_on, ${inDoubt} as in_doubt from messaging.deliveries d
        where ${openOf(scope, campaign)} and (not ${inDoubt} or d.lease_until <= ${now})
        limit ${CHUNK} for update of d skip locked
      ), ended as (
        update messaging.deliveries d set
          state = case when open.in_doubt then 'AMBIGUOUS' else 'CANCELLED' end,
          reason = case when open.in_doubt then 'no-reply' else ${reason} end,
          finished_at = ${now}, ${unleased}, lease_epoch = null
        from open where d.id = open.id and d.queued_on = open.queued_on and d.environment_id = ${environmentOf(scope)}
        returning d.state
      )
      select count(*) filter (where state = 'CANCELLED') as cancelled, count(*) filter (where state = 'AMBIGUOUS') as unknown
      from ended
    `.execute(this.database.tables());
    return rows[0] ?? { cancelled: 0, unknown: 0 };
  }
}

const openOf = (scope: ProjectScope, { id, queuedOn }: ClosingCampaign) => sql`
  d.source_id = ${id} and d.environment_id = ${environmentOf(scope)} and d.kind = 'CAMPAIGN' and d.queued_on = ${queuedOn}::date and d.finished_at is null
`;
