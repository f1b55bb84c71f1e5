import type { CampaignStatistics } from '../statistics/campaign-statistics.js';
import type { LinkClicks } from '../statistics/link-clicks.query.js';
import type { LanguageFigures } from '../statistics/language-figures.query.js';
import type { ProviderFigures } from '../statistics/provider-figures.query.js';
import type { TimelineInterval, TimelinePoint } from '../statistics/timeline.js';

/** A report's text as it was last written. */
export interface WrittenReport {
  /** Markdown. */
  readonly content: string;
  /** BCP 47. */
  readonly locale: string;
  /** Who wrote it. */
  readonly aiModelId: string | null;
  readonly generatedAt: Date | null;
}

/** What there is to see of a campaign that was sent: counts, no person. */
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
  /** Whether links and providers were counted at all yet. */
  readonly isBrokenDown: boolean;
  /** When links and providers were counted; null when nothing has happened since. */
  readonly brokenDownAt: Date | null;
  /** Null before one was written. */
  readonly report: WrittenReport | null;
}

/** A chart with more hours than this shows days. */
const MOST_HOURS = 120;
/** A chart with fewer hours than this shows minutes. */
const FEWEST_HOURS = 4;

/** In which steps a campaign's course of so many hours is shown. */
export function intervalFor(hours: number): TimelineInterval {
  if (hours > MOST_HOURS) return 'day';
  return hours < FEWEST_HOURS ? 'minute' : 'hour';
}
