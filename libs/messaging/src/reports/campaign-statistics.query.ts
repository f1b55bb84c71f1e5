import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { type CampaignStatus, isCampaignKey } from '../campaigns/campaign.js';
import { type CampaignStatistics, ratesOf, statisticsStatus } from './campaign-statistics.js';

interface CountRow {
  readonly id: string;
  readonly name: string;
  readonly status: CampaignStatus;
  readonly completed_at: Date | null;
  readonly sent: number;
  readonly first_sent_at: Date | null;
  readonly last_sent_at: Date | null;
  readonly last_event_at: Date | null;
  readonly bounced: number;
  readonly unsubscribed: number;
  readonly complaints: number;
}

export interface ReportedCampaign {
  readonly campaignKey: string;
  readonly name: string;
  readonly status: CampaignStatus;
  readonly statistics: CampaignStatistics;
}

/** A campaign's numbers, counted from its deliveries and what came back to them. */
@Injectable()
export class CampaignStatisticsQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** All zero before sending; `NotFoundError` without such a campaign. */
  async of(scope: ProjectScope, campaignKey: string): Promise<ReportedCampaign> {
    if (!isCampaignKey(campaignKey)) throw new NotFoundError();
    const row = await this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<CountRow>`
        select c.id, c.name, c.status, c.completed_at, d.sent, d.bounced, d.first_sent_at, d.last_sent_at,
          e.unsubscribed, e.complaints, e.last_event_at
        from messaging.campaigns c
        cross join lateral (
          select count(*) filter (where d.state = 'SENT') as sent, count(*) filter (where d.bounced_at is not null) as bounced,
            min(d.sent_at) as first_sent_at, max(d.sent_at) as last_sent_at
          from messaging.deliveries d
          where d.source_id = c.id and d.queued_on = (c.queued_at at time zone 'UTC')::date
        ) d
        cross join lateral (
          select count(distinct e.delivery_id) filter (where e.type = 'UNSUBSCRIBED') as unsubscribed,
            count(distinct e.delivery_id) filter (where e.type = 'COMPLAINED') as complaints, max(e.occurred_at) as last_event_at
          from messaging.delivery_events e where e.campaign_id = c.id
        ) e
        where c.environment_id = ${scope.environmentId} and c.campaign_key = ${campaignKey}
      `.execute(db);
      return rows[0];
    });
    if (row === undefined) throw new NotFoundError();
    return { campaignKey, name: row.name, status: row.status, statistics: statisticsOf(row) };
  }
}

function statisticsOf(row: CountRow): CampaignStatistics {
  const counts = {
    totalSent: row.sent,
    hardBounced: row.bounced,
    softBounced: 0,
    totalOpened: 0,
    uniqueOpens: 0,
    totalClicked: 0,
    uniqueClicks: 0,
    totalUnsubscribed: row.unsubscribed,
    spamComplaints: row.complaints,
  };
  const times = [row.last_sent_at, row.last_event_at]
    .filter((time) => time !== null)
    .map((time) => time.getTime());
  return {
    campaignId: row.id,
    status: statisticsStatus(counts),
    ...counts,
    ...ratesOf(counts),
    engagementScore: 0,
    collectedAt: row.first_sent_at,
    lastUpdatedAt: times.length === 0 ? null : new Date(Math.max(...times)),
    completedAt: row.completed_at,
  };
}
