import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { type Config, CONFIG, Database } from '#platform';
import { type CampaignStatus, isCampaignKey } from '../../campaigns/campaign.js';
import { IS_TRACKED } from '../../engagement/link-sets.service.js';
import {
  type CampaignCounts,
  type CampaignStatistics,
  countsOf,
  engagementIndex,
  engagementScore,
  ratesOf,
  statisticsStatus,
} from './campaign-statistics.js';

interface CountRow extends CampaignCounts {
  readonly id: string;
  readonly name: string;
  readonly status: CampaignStatus;
  readonly completedAt: Date | null;
  readonly isTracked: boolean;
  readonly firstSentAt: Date | null;
  readonly lastSentAt: Date | null;
  readonly lastEventAt: Date | null;
}

export interface ReportedCampaign {
  readonly campaignKey: string;
  readonly name: string;
  readonly status: CampaignStatus;
  readonly statistics: CampaignStatistics;
}

/** Campaigns that a project's own average is taken from. */
const COMPARED = 20;

/** A campaign's counters `k`, added up. */
const NUMBERS = sql`
  coalesce(sum(k.sent), 0)::bigint as total_sent, coalesce(sum(k.hard_bounced), 0)::bigint as hard_bounced,
  coalesce(sum(k.soft_bounced), 0)::bigint as soft_bounced, coalesce(sum(k.opened), 0)::bigint as total_opened,
  coalesce(sum(k.unique_opens), 0)::bigint as unique_opens, coalesce(sum(k.clicked), 0)::bigint as total_clicked,
  coalesce(sum(k.unique_clicks), 0)::bigint as unique_clicks, coalesce(sum(k.unsubscribed), 0)::bigint as total_unsubscribed,
  coalesce(sum(k.complained), 0)::bigint as spam_complaints, min(k.first_sent_at) as first_sent_at,
  max(k.last_sent_at) as last_sent_at, max(k.last_event_at) as last_event_at
`;

/** Campaigns `c`, each with its numbers `n`. */
export const COUNTED_CAMPAIGNS = sql`
  messaging.campaigns c
  cross join lateral (select ${NUMBERS} from messaging.campaign_counters k
    where k.campaign_id = c.id and k.environment_id = c.environment_id) n
`;

/** A campaign's numbers, read from its counters. */
@Injectable()
export class CampaignStatisticsQuery {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** All zero before sending; `NotFoundError` without such a campaign. */
  async of(scope: ProjectScope, campaignKey: string): Promise<ReportedCampaign> {
    if (!isCampaignKey(campaignKey)) throw new NotFoundError();
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<CountRow>`
        select c.id, c.name, c.status, c.completed_at, ${IS_TRACKED} as is_tracked, n.*
        from ${COUNTED_CAMPAIGNS}
        where c.environment_id = ${scope.environmentId} and c.campaign_key = ${campaignKey} and c.deleted_at is null
      `.execute(this.database.tables());
      const [row] = rows;
      if (row === undefined) throw new NotFoundError();
      const others = row.totalSent === 0 ? [] : await othersOf(this.database, scope, row.id);
      return { campaignKey, name: row.name, status: row.status, statistics: this.#statisticsOf(row, others) };
    });
  }

  #statisticsOf(row: CountRow, others: readonly CampaignCounts[]): CampaignStatistics {
    const { id, completedAt, firstSentAt, lastSentAt, lastEventAt } = row;
    const counts = countsOf(row);
    const times = [lastSentAt, lastEventAt].filter((time) => time !== null).map((time) => time.getTime());
    const isTracked = row.isTracked && this.config.TRACKING;
    const progress = { totalSent: row.totalSent, campaignStatus: row.status, isTracked, lastSentAt };
    return {
      campaignId: id,
      status: statisticsStatus(progress, this.clock.now()),
      ...counts,
      ...ratesOf(counts),
      engagementScore: isTracked ? engagementScore(engagementIndex(counts), others.map(engagementIndex)) : 0,
      collectedAt: firstSentAt,
      lastUpdatedAt: times.length === 0 ? null : new Date(Math.max(...times)),
      completedAt,
    };
  }
}

/** The project's last campaigns that were sent and tracked, this one aside. */
async function othersOf(
  database: Database,
  scope: ProjectScope,
  campaignId: string,
): Promise<CampaignCounts[]> {
  const { rows } = await sql<CampaignCounts>`
    select n.* from ${COUNTED_CAMPAIGNS}
    where c.environment_id = ${scope.environmentId} and c.queued_at is not null and c.id <> ${campaignId}
      and n.total_sent > 0 and ${IS_TRACKED}
    order by c.queued_at desc limit ${COMPARED}
  `.execute(database.tables());
  return rows;
}
