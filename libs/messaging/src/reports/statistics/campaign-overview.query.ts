import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { sentCampaign } from '../../campaigns/campaign.repository.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { CampaignStatisticsQuery } from './campaign-statistics.query.js';
import { type TimelineInterval, type TimelinePoint, TimelineQuery } from './timeline.query.js';
import { type CampaignBreakdown, CampaignBreakdownsService } from './campaign-breakdowns.service.js';
import type { CampaignStatistics } from './campaign-statistics.js';
import type { LanguageFigures, ProviderFigures } from './campaign-figures.query.js';
import type { LinkClicks } from './report-facts.js';

/** A report's text as it was last written. */
interface WrittenReport {
  /** Markdown. */
  readonly content: string;
  /** BCP 47. */
  readonly locale: string;
  /** Author of the text. */
  readonly aiModelId: string | null;
  readonly generatedAt: Date | null;
}

/** Counts of a campaign that was sent; no person shows. */
export interface CampaignOverview {
  readonly name: string;
  readonly subject: string;
  readonly queuedAt: Date;
  readonly isTracked: boolean;
  readonly statistics: CampaignStatistics;
  readonly timeline: { readonly interval: TimelineInterval; readonly points: readonly TimelinePoint[] };
  /** The most followed ones. */
  readonly links: readonly LinkClicks[];
  readonly providers: readonly ProviderFigures[];
  /** None without translations. */
  readonly languages: readonly LanguageFigures[];
  /** False until links and providers are counted for the first time. */
  readonly isBrokenDown: boolean;
  /** Time of the count of links and providers; null when nothing has happened since. */
  readonly brokenDownAt: Date | null;
  /** Null before one was written. */
  readonly report: WrittenReport | null;
}

export interface CampaignLanguages {
  /** None without translations, or before it was sent. */
  readonly languages: readonly LanguageFigures[];
  /** Null while a worker counts those of a large campaign for the first time. */
  readonly countedAt: Date | null;
}

/** Reads a campaign's overview for its report's page, and its languages. */
@Injectable()
export class CampaignOverviewQuery {
  constructor(
    private readonly database: Database,
    private readonly statistics: CampaignStatisticsQuery,
    private readonly timelines: TimelineQuery,
    private readonly breakdowns: CampaignBreakdownsService,
  ) {}

  /** Null when the campaign is gone, or nothing was sent yet. */
  async of(scope: ProjectScope, campaignId: string): Promise<CampaignOverview | null> {
    const campaign = await this.#sent(scope, campaignId);
    if (campaign === undefined) return null;
    const { statistics } = await this.statistics.of(scope, campaign.campaignKey);
    if (statistics.totalSent === 0) return null;
    const { name, subject, queuedAt } = campaign;
    const [timeline, counted, report] = await Promise.all([
      this.#timeline(scope, campaign.campaignKey),
      this.breakdowns.of(scope, { ...campaign, totalSent: statistics.totalSent }),
      this.#lastWritten(scope, campaign.id),
    ]);
    const isTracked = statistics.status !== 'PARTIAL';
    const head = { name, subject: subject ?? '', queuedAt, isTracked };
    return { ...head, statistics, timeline, ...brokenDown(counted), report };
  }

  /** Results in each of a campaign's languages. `NotFoundError` without such a campaign. */
  async languages(scope: ProjectScope, campaignKey: string): Promise<CampaignLanguages> {
    const { statistics } = await this.statistics.of(scope, campaignKey);
    const campaign = await this.#sent(scope, statistics.campaignId);
    const counted =
      campaign && (await this.breakdowns.of(scope, { ...campaign, totalSent: statistics.totalSent }));
    return { languages: counted?.languages ?? [], countedAt: counted?.countedAt ?? null };
  }

  #sent(scope: ProjectScope, campaignId: string) {
    return this.database.transaction(scope, () =>
      sentCampaign(this.database.tables(), scope, campaignId).executeTakeFirst(),
    );
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

/** A chart with more hours than this shows days. */
const MOST_HOURS = 120;
/** A chart with fewer hours than this shows minutes. */
const FEWEST_HOURS = 4;

/** Steps in which a campaign's course of so many hours is shown. */
function intervalFor(hours: number): TimelineInterval {
  if (hours > MOST_HOURS) return 'day';
  return hours < FEWEST_HOURS ? 'minute' : 'hour';
}
