import { ratesOf } from '../statistics/campaign-statistics.js';
import type { ReportFacts } from '../statistics/report-facts.js';
import {
  bestHour,
  COMPLAINT_LIMIT,
  rankedLinks,
  type RankedLinks,
  tooManyComplaints,
  unusualDomains,
} from './details.js';
import { address, count, type Finding, finding, hour, named, type Section, share } from './finding.js';
import { comparisons, type MetricComparison } from './metrics.js';
import { CHANCE, CONFIDENCE, proportion, shareOf, wilson } from './proportion.js';
import { recommendation } from './recommendation.js';

/** What there is to say about a campaign, in the order of its sections. Says what is sure, and what is not. */
export function analyse(facts: ReportFacts): Finding[] {
  if (facts.counts.totalSent === 0) {
    return [finding('summary', 'nothingSent'), recommendation(facts, [])];
  }
  const compared = comparisons(facts);
  return [
    ...overview(facts),
    ...comparedWith(facts, compared),
    ...compared.map(metricFinding),
    ...linkFindings(facts),
    ...hourFindings(facts),
    ...deliveryFindings(facts),
    recommendation(facts, compared),
  ];
}

function overview({ counts, isTracked }: ReportFacts): Finding[] {
  const { totalDelivered, deliveryRate } = ratesOf(counts);
  const sent = {
    sent: count(counts.totalSent),
    delivered: count(totalDelivered),
    share: share(deliveryRate),
  };
  if (!isTracked) return [finding('summary', 'sent', sent), finding('summary', 'untracked')];
  const opens = proportion(counts.uniqueOpens, totalDelivered);
  const clicks = proportion(counts.uniqueClicks, totalDelivered);
  const { low, high } = wilson(opens);
  return [
    finding('summary', 'sent', sent),
    finding('summary', 'engaged', {
      opens: count(opens.part),
      openShare: share(shareOf(opens)),
      level: share(CONFIDENCE),
      low: share(low),
      high: share(high),
      clicks: count(clicks.part),
      clickShare: share(shareOf(clicks)),
    }),
  ];
}

function comparedWith({ history, isEarly }: ReportFacts, compared: readonly MetricComparison[]): Finding[] {
  if (compared.length === 0) return [finding('summary', 'first')];
  const message = isEarly ? 'comparedAtAge' : 'compared';
  return [finding('summary', message, { campaigns: count(history.length), chance: share(CHANCE) })];
}

const SECTION_OF: Readonly<Record<MetricComparison['verdict'], Section>> = {
  better: 'worked',
  worse: 'improve',
  same: 'summary',
  'too-few': 'summary',
};
const MESSAGE_OF: Readonly<Record<MetricComparison['verdict'], string>> = {
  better: 'better',
  worse: 'worse',
  same: 'asUsual',
  'too-few': 'tooFew',
};

function metricFinding({ name, verdict, own, usual, rank, places }: MetricComparison): Finding {
  const values = {
    metric: named(`metric.${name}`),
    share: share(shareOf(own)),
    usual: share(shareOf(usual)),
  };
  const standing = { rank: count(rank), places: count(places) };
  const numbers = { part: count(own.part), of: count(own.of) };
  const more = verdict === 'too-few' ? numbers : verdict === 'same' ? {} : standing;
  return finding(SECTION_OF[verdict], MESSAGE_OF[verdict], { ...values, ...more });
}

function linkFindings(facts: ReportFacts): Finding[] {
  if (!facts.isTracked || facts.links.length === 0) return [];
  const ranked = rankedLinks(facts);
  if (ranked === null) return [finding('summary', 'fewClicks', { clickers: count(facts.clickers) })];
  return [bestLinkFinding(facts, ranked), ...worstLinkFinding(facts, ranked)];
}

function bestLinkFinding({ clickers }: ReportFacts, { best, second, isClear }: RankedLinks): Finding {
  const values = {
    url: address(best.url),
    clickers: count(best.clickers),
    total: count(clickers),
    share: share(shareOf(proportion(best.clickers, clickers))),
  };
  if (second === null) return finding('worked', 'onlyLink', values);
  if (isClear) return finding('worked', 'bestLink', values);
  const next = { next: address(second.url), nextClickers: count(second.clickers) };
  return finding('worked', 'bestLinkClose', { ...values, ...next });
}

function worstLinkFinding({ clickers }: ReportFacts, { worst }: RankedLinks): Finding[] {
  if (worst === null) return [];
  const values = {
    url: address(worst.url),
    clickers: count(worst.clickers),
    total: count(clickers),
    share: share(shareOf(proportion(worst.clickers, clickers))),
  };
  return [finding('improve', 'worstLink', values)];
}

function hourFindings(facts: ReportFacts): Finding[] {
  const found = facts.isTracked ? bestHour(facts) : null;
  if (found === null) return [];
  const { best, total, isClear, second } = found;
  const values = {
    from: hour(best.hour),
    until: hour(best.hour + 1),
    opens: count(best.opens),
    total: count(total),
    share: share(best.opens / total),
  };
  if (isClear || second === null) return [finding('worked', 'bestHour', values)];
  const next = { next: hour(second.hour), nextOpens: count(second.opens) };
  return [finding('summary', 'bestHourClose', { ...values, ...next })];
}

function deliveryFindings(facts: ReportFacts): Finding[] {
  const domains = unusualDomains(facts).map(({ domain, own, others }) =>
    finding('improve', 'badDomain', {
      domain: address(domain),
      undelivered: count(own.part),
      mails: count(own.of),
      share: share(shareOf(own)),
      others: share(shareOf(others)),
    }),
  );
  const complaints = tooManyComplaints(facts);
  if (complaints === null) return domains;
  const values = {
    complaints: count(complaints.part),
    delivered: count(complaints.of),
    share: share(shareOf(complaints)),
    limit: share(COMPLAINT_LIMIT),
  };
  return [...domains, finding('improve', 'complaints', values)];
}
