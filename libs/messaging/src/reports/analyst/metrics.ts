import { type CampaignCounts, ratesOf } from '../statistics/campaign-statistics.js';
import type { ReportFacts } from '../statistics/report-facts.js';
import { compare, type Comparison, type Proportion, proportion, shareOf } from './proportion.js';

interface Metric {
  /** `metric.<name>` is its message. */
  readonly name: 'open' | 'click' | 'clickToOpen' | 'unsubscribe' | 'bounce' | 'complaint';
  readonly isBetter: 'higher' | 'lower';
  readonly needsTracking: boolean;
  of(counts: CampaignCounts): Proportion;
}

const delivered = (counts: CampaignCounts) => ratesOf(counts).totalDelivered;

/** The rates that campaigns are compared by, as the statistics define them. */
export const METRICS: readonly Metric[] = [
  {
    name: 'open',
    isBetter: 'higher',
    needsTracking: true,
    of: (counts) => proportion(counts.uniqueOpens, delivered(counts)),
  },
  {
    name: 'click',
    isBetter: 'higher',
    needsTracking: true,
    of: (counts) => proportion(counts.uniqueClicks, delivered(counts)),
  },
  {
    name: 'clickToOpen',
    isBetter: 'higher',
    needsTracking: true,
    of: (counts) => proportion(counts.uniqueClicks, counts.uniqueOpens),
  },
  {
    name: 'unsubscribe',
    isBetter: 'lower',
    needsTracking: false,
    of: (counts) => proportion(counts.totalUnsubscribed, delivered(counts)),
  },
  {
    name: 'bounce',
    isBetter: 'lower',
    needsTracking: false,
    of: (counts) => proportion(counts.hardBounced + counts.softBounced, counts.totalSent),
  },
  {
    name: 'complaint',
    isBetter: 'lower',
    needsTracking: false,
    of: (counts) => proportion(counts.spamComplaints, delivered(counts)),
  },
];

/** How a campaign stands in one rate to those before it, taken together. */
export interface MetricComparison {
  readonly name: Metric['name'];
  readonly verdict: 'better' | 'worse' | 'same' | 'too-few';
  readonly own: Proportion;
  /** All compared campaigns' in one. */
  readonly usual: Proportion;
  /** 1 is the best of `places`, this campaign included. */
  readonly rank: number;
  readonly places: number;
}

/** Each rate that can be compared; none for a first campaign. */
export function comparisons(facts: ReportFacts): MetricComparison[] {
  return METRICS.filter(({ needsTracking }) => facts.isTracked || !needsTracking).flatMap((metric) => {
    const past = facts.history
      .filter(({ isTracked }) => isTracked || !metric.needsTracking)
      .map(({ counts }) => metric.of(counts));
    const own = metric.of(facts.counts);
    return own.of === 0 || past.every(({ of }) => of === 0) ? [] : [comparisonOf(metric, own, past)];
  });
}

function comparisonOf(metric: Metric, own: Proportion, past: readonly Proportion[]): MetricComparison {
  const usual = past.reduce((sum, { part, of }) => ({ part: sum.part + part, of: sum.of + of }));
  const sign = metric.isBetter === 'higher' ? 1 : -1;
  const better = past.filter((one) => sign * (shareOf(one) - shareOf(own)) > 0);
  const verdict = verdictOf(compare(own, usual), metric.isBetter);
  return { name: metric.name, verdict, own, usual, rank: better.length + 1, places: past.length + 1 };
}

function verdictOf(comparison: Comparison, isBetter: Metric['isBetter']): MetricComparison['verdict'] {
  if (comparison === 'same' || comparison === 'too-few') return comparison;
  return comparison === isBetter ? 'better' : 'worse';
}
