import { ratesOf } from '../statistics/campaign-statistics.js';
import type { LinkClicks } from '../statistics/link-clicks.query.js';
import type { DomainFacts, HourFacts, ReportFacts } from '../statistics/report-facts.js';
import { compare, isClearlyAbove, type Proportion, proportion, wilson, zOf } from './proportion.js';

/** Below it, neither links nor hours are told apart. */
const FEWEST_TO_RANK = 20;

const MOST_DOMAINS = 3;

/**
 * What mailbox providers ask senders to stay below: Google, Email sender guidelines ("Keep spam rates reported in
 * Postmaster Tools below 0.1 %").
 */
export const COMPLAINT_LIMIT = 0.001;

export interface RankedLinks {
  readonly best: LinkClicks;
  readonly second: LinkClicks | null;
  /** Whether the best is ahead of the second without doubt. */
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

export interface BestHour {
  readonly best: HourFacts;
  /** Opens of all hours. */
  readonly total: number;
  /** Whether no other hour could be as good. */
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

export interface UnusualDomain {
  readonly domain: string;
  readonly own: Proportion;
  /** Of the mails to all other providers. */
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
