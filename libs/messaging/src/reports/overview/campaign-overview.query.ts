import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import { CampaignStatisticsQuery } from '../statistics/campaign-statistics.query.js';
import { TimelineQuery } from '../statistics/timeline.query.js';
import { type CampaignBreakdown, CampaignBreakdowns } from '../breakdowns/campaign-breakdowns.service.js';
import { type CampaignOverview, intervalFor, type WrittenReport } from './campaign-overview.js';

interface CampaignRow {
  readonly id: string;
  readonly campaignKey: string;
  readonly name: string;
  readonly subject: string;
  readonly queuedAt: Date;
  readonly queuedOn: string;
}

/** All of a campaign that its report's page shows. */
@Injectable()
export class CampaignOverviewQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignStatisticsQuery) private readonly statistics: CampaignStatisticsQuery,
    @Inject(TimelineQuery) private readonly timelines: TimelineQuery,
    @Inject(CampaignBreakdowns) private readonly breakdowns: CampaignBreakdowns,
  ) {}

  /** Null when the campaign is gone, or nothing was sent yet. */
  async of(scope: ProjectScope, campaignId: string): Promise<CampaignOverview | null> {
    const campaign = await this.database.transaction(scope, ({ db }) => campaignRow(scope, db, campaignId));
    if (campaign === null) return null;
    const { statistics } = await this.statistics.of(scope, campaign.campaignKey);
    if (statistics.totalSent === 0) return null;
    const { name, subject, queuedAt } = campaign;
    const { totalSent } = statistics;
    const [timeline, counted, report] = await Promise.all([
      this.#timeline(scope, campaign.campaignKey),
      this.breakdowns.of(scope, { ...campaign, totalSent }),
      this.database.transaction(scope, ({ db }) => lastWritten(scope, db, campaign.id)),
    ]);
    const isTracked = statistics.status !== 'PARTIAL';
    return {
      name,
      subject,
      queuedAt,
      isTracked,
      statistics,
      timeline,
      ...brokenDown(counted),
      report,
    };
  }

  async #timeline(scope: ProjectScope, campaignKey: string): Promise<CampaignOverview['timeline']> {
    const hours = await this.timelines.of(scope, campaignKey, 'hour');
    const interval = intervalFor(hours.length);
    const points = interval === 'hour' ? hours : await this.timelines.of(scope, campaignKey, interval);
    return { interval, points };
  }
}

function brokenDown(
  counted: CampaignBreakdown | null,
): Pick<CampaignOverview, 'links' | 'providers' | 'isBrokenDown' | 'brokenDownAt'> {
  if (counted === null) return { links: [], providers: [], isBrokenDown: false, brokenDownAt: null };
  const { links, providers, countedAt, isCurrent } = counted;
  return { links, providers, isBrokenDown: true, brokenDownAt: isCurrent ? null : countedAt };
}

async function campaignRow(scope: ProjectScope, db: Sql, campaignId: string): Promise<CampaignRow | null> {
  const { rows } = await sql<CampaignRow>`
    select id, campaign_key as "campaignKey", name, subject, queued_at as "queuedAt",
      to_char(queued_at at time zone 'UTC', 'YYYY-MM-DD') as "queuedOn"
    from messaging.campaigns
    where environment_id = ${scope.environmentId} and id = ${campaignId} and queued_at is not null and deleted_at is null
  `.execute(db);
  return rows[0] ?? null;
}

/** The latest version that came to its end, though a newer one may be in the making. */
async function lastWritten(scope: ProjectScope, db: Sql, campaignId: string): Promise<WrittenReport | null> {
  const { rows } = await sql<WrittenReport>`
    select content, locale, ai_model_id as "aiModelId", generated_at as "generatedAt" from messaging.campaign_reports
    where environment_id = ${scope.environmentId} and campaign_id = ${campaignId} and status = 'GENERATED'
      and content is not null
    order by version desc limit 1
  `.execute(db);
  return rows[0] ?? null;
}
