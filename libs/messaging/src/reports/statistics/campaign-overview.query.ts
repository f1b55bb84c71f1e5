import { Injectable } from '@nestjs/common';
import { NotFoundError, type ProjectScope, proportion, shareOf, wilson } from '#kernel';
import { Database } from '#platform';
import { campaignNamed, sentCampaign } from '../../campaigns/campaign.repository.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { CampaignStatisticsQuery } from './campaign-statistics.query.js';
import { type TimelineInterval, type TimelinePoint, TimelineQuery } from './timeline.query.js';
import { compareVariants, type TestMeasure, type VariantCounts } from '../../campaigns/campaign-variants.js';
import { countsOfEach } from '../../campaigns/variant-figures.query.js';
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

interface Rate {
  /** 0 to 1; of nothing 0. */
  readonly rate: number;
  /** Bounds of the true rate with 95 % confidence: Wilson's score interval. */
  readonly low: number;
  readonly high: number;
}

/** A variant's results in the test; what the rest of the audience did with the winner is not among them. */
export interface VariantResult extends VariantCounts {
  /** Its number, from 1. */
  readonly variant: number;
  readonly name: string;
  /** Share of the delivered. */
  readonly opens: Rate;
  readonly clicks: Rate;
  /** Probability that chance alone makes such a difference to the leader; null for the leader. */
  readonly pValue: number | null;
  /** The counts by which the test was decided; null before. */
  readonly decidedBy: VariantCounts | null;
}

/** The results of a campaign's A/B test. */
export interface VariantsReport {
  readonly testPhase: 'TESTING' | 'DECIDED' | null;
  readonly by: TestMeasure | null;
  /** Number of the variant with the highest rate; null before anything was counted. */
  readonly leader: number | null;
  /** The leader is better than each other one, p < 0.05. */
  readonly isSure: boolean;
  readonly winningVariant: number | null;
  /** True: by the test's rule; false: by hand. */
  readonly decidedByRule: boolean | null;
  readonly decidedAt: Date | null;
  /** When it asked for a choice. */
  readonly undecidedAt: Date | null;
  readonly variants: readonly VariantResult[];
  /** The others, who got the winner; null where nobody waited. */
  readonly rest: VariantCounts | null;
  /** Null before sending, and while a worker counts a large campaign for the first time. */
  readonly countedAt: Date | null;
}

/** Reads a campaign's overview for its report's page, its languages and its variants. */
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

  /** Results of a campaign's variants, none without. `NotFoundError` without such a campaign. */
  async variants(scope: ProjectScope, campaignKey: string): Promise<VariantsReport> {
    const campaign = await this.database.transaction(scope, () =>
      campaignNamed(this.database.tables(), scope, campaignKey)
        .select(['id', 'variants', 'test', 'testPhase', 'testResult', 'winningVariant', 'testUndecidedAt'])
        .executeTakeFirstOrThrow(() => new NotFoundError()),
    );
    const { statistics } = await this.statistics.of(scope, campaignKey);
    const sent = await this.#sent(scope, campaign.id);
    const counted = sent && (await this.breakdowns.of(scope, { ...sent, totalSent: statistics.totalSent }));
    const { test, testPhase, testResult, winningVariant, testUndecidedAt: undecidedAt } = campaign;
    const figures = counted?.variants ?? [];
    const counts = countsOfEach(figures, campaign.variants.length);
    const by = test?.by ?? null;
    const compared = by === null || figures.length === 0 ? null : compareVariants(counts, by);
    const { variant: _rest, ...rest } = figures.find(({ variant }) => variant === null) ?? { variant: null };
    return {
      testPhase,
      by,
      leader: compared?.leader ?? null,
      isSure: compared?.isSure ?? false,
      winningVariant,
      decidedByRule: testResult?.byRule ?? null,
      decidedAt: testResult === null ? null : new Date(testResult.decidedAt),
      undecidedAt,
      variants: campaign.variants.map(({ name }, index) => ({
        variant: index + 1,
        name,
        ...resultOf(counts[index]!),
        pValue: compared?.pValues[index] ?? null,
        decidedBy: testResult?.counts[index] ?? null,
      })),
      rest: 'recipients' in rest ? rest : null,
      countedAt: counted?.countedAt ?? null,
    };
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

function resultOf(counts: VariantCounts) {
  const rateOf = (part: number): Rate => {
    const share = proportion(part, counts.delivered);
    return { rate: shareOf(share), ...wilson(share) };
  };
  return { ...counts, opens: rateOf(counts.opened), clicks: rateOf(counts.clicked) };
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
