import { type CampaignCounts, ratesOf } from '../statistics/campaign-statistics.js';
import type { DomainFacts, HourFacts, ReportFacts } from '../statistics/report-facts.js';
import {
  compare,
  type Comparison,
  isClearlyAbove,
  type Proportion,
  proportion,
  shareOf,
  wilson,
  zOf,
} from '#kernel';
import type { LinkClicks } from '../statistics/report-facts.js';

interface Metric {
  /** `metric.<name>` is its message. */
  readonly name: 'open' | 'click' | 'clickToOpen' | 'unsubscribe' | 'bounce' | 'complaint';
  readonly isBetter: 'higher' | 'lower';
  readonly needsTracking: boolean;
  of(counts: CampaignCounts): Proportion;
}

type Count = (counts: CampaignCounts) => number;

const delivered: Count = (counts) => ratesOf(counts).totalDelivered;
const bounced: Count = ({ hardBounced, softBounced }) => hardBounced + softBounced;

/** A rate of readers' reactions, known only with pixel and tracked links: higher is better. */
const reaction = (name: Metric['name'], part: Count, of: Count): Metric => ({
  name,
  isBetter: 'higher',
  needsTracking: true,
  of: (counts) => proportion(part(counts), of(counts)),
});

/** A rate of failures: lower is better. */
const failure = (name: Metric['name'], part: Count, of: Count): Metric => ({
  name,
  isBetter: 'lower',
  needsTracking: false,
  of: (counts) => proportion(part(counts), of(counts)),
});

/** The rates that campaigns are compared by, as the statistics define them. */
export const METRICS: readonly Metric[] = [
  reaction('open', ({ uniqueOpens }) => uniqueOpens, delivered),
  reaction('click', ({ uniqueClicks }) => uniqueClicks, delivered),
  reaction(
    'clickToOpen',
    ({ uniqueClicks }) => uniqueClicks,
    ({ uniqueOpens }) => uniqueOpens,
  ),
  failure('unsubscribe', ({ totalUnsubscribed }) => totalUnsubscribed, delivered),
  failure('bounce', bounced, ({ totalSent }) => totalSent),
  failure('complaint', ({ spamComplaints }) => spamComplaints, delivered),
];

/** A campaign's rate beside that of those before it, taken together. */
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

/** Below it, neither links nor hours are told apart. */
const FEWEST_TO_RANK = 20;

const MOST_DOMAINS = 3;

/**
 * Limit of mailbox providers: Google, Email sender guidelines ("Keep spam rates reported in Postmaster Tools below 0.1 %").
 */
export const COMPLAINT_LIMIT = 0.001;

export interface RankedLinks {
  readonly best: LinkClicks;
  readonly second: LinkClicks | null;
  /** True when the best is ahead of the second without doubt. */
  readonly isClear: boolean;
  /** The last one, if it is behind the best without doubt. */
  readonly worst: LinkClicks | null;
}

/** Null when there is nothing to rank or too few clicks. */
export function rankedLinks({ links, clickers }: ReportFacts): RankedLinks | null {
  const sorted = links.toSorted((a, b) => b.clickers - a.clickers || (a.url < b.url ? -1 : 1));
  const [best, second = null] = sorted;
  if (best === undefined || clickers < FEWEST_TO_RANK) return null;
  const ofClickers = (link: LinkClicks) => proportion(link.clickers, clickers);
  const last = sorted.length > 1 ? sorted.at(-1) : undefined;
  const isBehind = last !== undefined && isClearlyAbove(ofClickers(best), ofClickers(last));
  return {
    best,
    second,
    isClear: second !== null && isClearlyAbove(ofClickers(best), ofClickers(second)),
    worst: isBehind ? last : null,
  };
}

interface BestHour {
  readonly best: HourFacts;
  /** Opens of all hours. */
  readonly total: number;
  /** True when no other hour could be as good. */
  readonly isClear: boolean;
  readonly second: HourFacts | null;
}

/** Null without enough opens. */
export function bestHour({ hours }: ReportFacts): BestHour | null {
  const total = hours.reduce((sum, { opens }) => sum + opens, 0);
  const [best, second = null] = hours.toSorted((a, b) => b.opens - a.opens || a.hour - b.hour);
  if (best === undefined || total < FEWEST_TO_RANK) return null;
  const isClear =
    second === null || isClearlyAbove(proportion(best.opens, total), proportion(second.opens, total));
  return { best, total, isClear, second };
}

interface UnusualDomain {
  readonly domain: string;
  readonly own: Proportion;
  /** Share of the mails to all other providers. */
  readonly others: Proportion;
}

/** Mailbox providers at which more failed to arrive than elsewhere, the surest first. */
export function unusualDomains({ domains, arrivals }: ReportFacts): UnusualDomain[] {
  const against = ({ domain, mails, undelivered }: DomainFacts): UnusualDomain => ({
    domain,
    own: proportion(undelivered, mails),
    others: proportion(arrivals.undelivered - undelivered, arrivals.mails - mails),
  });
  return domains
    .map(against)
    .filter(({ own, others }) => compare(own, others) === 'higher')
    .toSorted((a, b) => zOf(b.own, b.others) - zOf(a.own, a.others))
    .slice(0, MOST_DOMAINS);
}

/** Complaints over the delivered, if they are above what providers accept without doubt. */
export function tooManyComplaints({ counts }: ReportFacts): Proportion | null {
  const complaints = proportion(counts.spamComplaints, ratesOf(counts).totalDelivered);
  return complaints.of > 0 && wilson(complaints).low > COMPLAINT_LIMIT ? complaints : null;
}
