import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { sentCampaign } from '../../campaigns/campaign.repository.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { CampaignStatisticsQuery } from '../statistics/campaign-statistics.query.js';
import { TimelineQuery } from '../statistics/timeline.query.js';
import { type CampaignBreakdown, CampaignBreakdowns } from '../breakdowns/campaign-breakdowns.service.js';
import { type CampaignOverview, intervalFor, type WrittenReport } from './campaign-overview.js';

/** All of a campaign that its report's page shows. */
@Injectable()
export class CampaignOverviewQuery {
  constructor(
    private readonly database: Database,
    private readonly statistics: CampaignStatisticsQuery,
    private readonly timelines: TimelineQuery,
    private readonly breakdowns: CampaignBreakdowns,
  ) {}

  /** Null when the campaign is gone, or nothing was sent yet. */
  async of(scope: ProjectScope, campaignId: string): Promise<CampaignOverview | null> {
    const campaign = await this.database.transaction(scope, () =>
      sentCampaign(this.database.tables(), scope, campaignId).executeTakeFirst(),
    );
    if (campaign === undefined) return null;
    const { statistics } = await this.statistics.of(scope, campaign.campaignKey);
    if (statistics.totalSent === 0) return null;
    const { name, subject, queuedAt } = campaign;
    const { totalSent } = statistics;
    const [timeline, counted, report] = await Promise.all([
      this.#timeline(scope, campaign.campaignKey),
      this.breakdowns.of(scope, { ...campaign, totalSent }),
      this.#lastWritten(scope, campaign.id),
    ]);
    const isTracked = statistics.status !== 'PARTIAL';
    return {
      name,
      subject: subject ?? '',
      queuedAt,
      isTracked,
      statistics,
      timeline,
      ...brokenDown(counted),
      report,
    };
  }

  /** The latest version that came to its end, though a newer one may be in the making. */
  #lastWritten(scope: ProjectScope, campaignId: string): Promise<WrittenReport | null> {
    return this.database.transaction(scope, async () => {
      const report = await this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.campaign_reports')
        .select(['content', 'locale', 'aiModelId', 'generatedAt'])
        .where('environmentId', '=', scope.environmentId)
        .where('campaignId', '=', campaignId)
        .where('status', '=', 'GENERATED')
        .where('content', 'is not', null)
        .$narrowType<{ content: string }>()
        .orderBy('version', 'desc')
        .limit(1)
        .executeTakeFirst();
      return report ?? null;
    });
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
): Pick<CampaignOverview, 'links' | 'providers' | 'languages' | 'isBrokenDown' | 'brokenDownAt'> {
  if (counted === null)
    return { links: [], providers: [], languages: [], isBrokenDown: false, brokenDownAt: null };
  const { links, providers, languages, countedAt, isCurrent } = counted;
  return { links, providers, languages, isBrokenDown: true, brokenDownAt: isCurrent ? null : countedAt };
}
