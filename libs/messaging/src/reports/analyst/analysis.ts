import { ratesOf } from '../statistics/campaign-statistics.js';
import type { LinkClicks, ReportFacts } from '../statistics/report-facts.js';
import {
  bestHour,
  comparisons,
  COMPLAINT_LIMIT,
  type MetricComparison,
  METRICS,
  rankedLinks,
  type RankedLinks,
  tooManyComplaints,
  unusualDomains,
} from './measures.js';
import {
  address,
  count,
  type Finding,
  finding,
  hour,
  named,
  quote,
  type Section,
  share,
} from './report-text.js';
import { CHANCE, CONFIDENCE, proportion, shareOf, wilson } from '#kernel';

/** Findings about a campaign, in the order of its sections; they tell sure ones from others. */
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

const MESSAGE_OF: Readonly<Record<MetricComparison['verdict'], readonly [Section, string]>> = {
  better: ['worked', 'better'],
  worse: ['improve', 'worse'],
  same: ['summary', 'asUsual'],
  'too-few': ['summary', 'tooFew'],
};

function metricFinding({ name, verdict, own, usual, rank, places }: MetricComparison): Finding {
  const values = {
    metric: named(`metric.${name}`),
    share: share(shareOf(own)),
    usual: share(shareOf(usual)),
  };
  const ranked = { rank: count(rank), places: count(places) };
  const numbers = { part: count(own.part), of: count(own.of) };
  const more = verdict === 'too-few' ? numbers : verdict === 'same' ? {} : ranked;
  const [section, message] = MESSAGE_OF[verdict];
  return finding(section, message, { ...values, ...more });
}

function linkFindings(facts: ReportFacts): Finding[] {
  if (!facts.isTracked || facts.links.length === 0) return [];
  const ranked = rankedLinks(facts);
  if (ranked === null) return [finding('summary', 'fewClicks', { clickers: count(facts.clickers) })];
  return [bestLinkFinding(facts, ranked), ...worstLinkFinding(facts, ranked)];
}

function bestLinkFinding({ clickers }: ReportFacts, { best, second, isClear }: RankedLinks): Finding {
  const values = linkValues(best, clickers);
  if (second === null) return finding('worked', 'onlyLink', values);
  if (isClear) return finding('worked', 'bestLink', values);
  const next = { next: address(second.url), nextClickers: count(second.clickers) };
  return finding('worked', 'bestLinkClose', { ...values, ...next });
}

function worstLinkFinding({ clickers }: ReportFacts, { worst }: RankedLinks): Finding[] {
  return worst === null ? [] : [finding('improve', 'worstLink', linkValues(worst, clickers))];
}

const linkValues = (link: LinkClicks, clickers: number): Finding['values'] => ({
  url: address(link.url),
  clickers: count(link.clickers),
  total: count(clickers),
  share: share(shareOf(proportion(link.clickers, clickers))),
});

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

/** A past campaign with fewer mails says too little to be an example. */
const FEWEST_OF_EXAMPLE = 100;

type Rule = (facts: ReportFacts, compared: readonly MetricComparison[]) => Finding | null;

/** The one thing to do next, tied to the number that calls for it: what harms delivery first, then what readers do. */
function recommendation(facts: ReportFacts, compared: readonly MetricComparison[]): Finding {
  for (const rule of RULES) {
    const found = rule(facts, compared);
    if (found !== null) return found;
  }
  return finding('recommendation', 'advise.audience', { sent: count(facts.counts.totalSent) });
}

const advise = (message: string, values: Finding['values']): Finding =>
  finding('recommendation', `advise.${message}`, values);

const complaints: Rule = (facts) => {
  const found = tooManyComplaints(facts);
  if (found === null) return null;
  return advise('complaints', { share: share(shareOf(found)), limit: share(COMPLAINT_LIMIT) });
};

const domain: Rule = (facts) => {
  const [worst] = unusualDomains(facts);
  if (worst === undefined) return null;
  return advise('domain', { domain: address(worst.domain), undelivered: count(worst.own.part) });
};

const worseIn =
  (name: MetricComparison['name'], message: string): Rule =>
  (_facts, compared) => {
    const found = compared.find((one) => one.name === name && one.verdict === 'worse');
    if (found === undefined) return null;
    return advise(message, { share: share(shareOf(found.own)), usual: share(shareOf(found.usual)) });
  };

/** The past campaign that was opened most, as an example. */
const subject: Rule = (facts, compared) => {
  const found = compared.find(({ name, verdict }) => name === 'open' && verdict === 'worse');
  if (found === undefined) return null;
  const opens = METRICS.find(({ name }) => name === 'open');
  const examples = facts.history
    .filter(({ isTracked }) => isTracked)
    .map(({ name, counts }) => ({ name, opened: opens?.of(counts) ?? proportion(0, 0) }))
    .filter(({ opened }) => opened.of >= FEWEST_OF_EXAMPLE && shareOf(opened) > shareOf(found.own))
    .toSorted((a, b) => shareOf(b.opened) - shareOf(a.opened));
  const values = { share: share(shareOf(found.own)), usual: share(shareOf(found.usual)) };
  const [example] = examples;
  if (example === undefined) return advise('subject', values);
  return advise('subjectLike', {
    ...values,
    example: quote(example.name),
    exampleShare: share(shareOf(example.opened)),
  });
};

/** Links that people did not follow though they opened the mail. */
const content: Rule = (facts, compared) => {
  const found = compared.find(
    ({ name, verdict }) => verdict === 'worse' && (name === 'clickToOpen' || name === 'click'),
  );
  if (found === undefined) return null;
  const values = { share: share(shareOf(found.own)), usual: share(shareOf(found.usual)) };
  const best = rankedLinks(facts)?.best;
  if (best === undefined) return advise('content', values);
  return advise('contentLink', { ...values, url: address(best.url), clickers: count(best.clickers) });
};

const weakLink: Rule = (facts) => {
  const ranked = facts.isTracked ? rankedLinks(facts) : null;
  if (ranked === null || ranked.worst === null) return null;
  return advise('links', {
    best: address(ranked.best.url),
    share: share(shareOf(proportion(ranked.best.clickers, facts.clickers))),
    worst: address(ranked.worst.url),
    worstShare: share(shareOf(proportion(ranked.worst.clickers, facts.clickers))),
  });
};

/** In the first days the best hour is that of the sending. */
const bestTime: Rule = (facts) => {
  const found = facts.isTracked && !facts.isEarly ? bestHour(facts) : null;
  if (found === null || !found.isClear) return null;
  return advise('hour', { from: hour(found.best.hour), share: share(found.best.opens / found.total) });
};

const unopened: Rule = ({ isTracked, areOpensDue, counts }) => {
  const { totalDelivered } = ratesOf(counts);
  if (!isTracked || counts.uniqueOpens > 0 || totalDelivered === 0) return null;
  return advise(areOpensDue ? 'unopened' : 'wait', { delivered: count(totalDelivered) });
};

/**
 * Mails that would show a change by a tenth of the open rate, in four of five cases: 16·p·(1−p)/(p/10)² = 1600·(1−p)/p
 * (R. Lehr, Statistics in Medicine 11, 1992).
 */
const moreReaders: Rule = ({ isTracked, counts }) => {
  if (!isTracked) return null;
  const opens = proportion(counts.uniqueOpens, ratesOf(counts).totalDelivered);
  if (opens.part === 0 || opens.part === opens.of) return null;
  const needed = Math.ceil((1_600 * (opens.of - opens.part)) / opens.part);
  const message = opens.of < needed ? 'moreReaders' : 'experiment';
  return advise(message, { delivered: count(opens.of), share: share(shareOf(opens)), needed: count(needed) });
};

const tracking: Rule = ({ isTracked, counts }) =>
  isTracked || counts.totalSent === 0 ? null : advise('tracking', { sent: count(counts.totalSent) });

const RULES: readonly Rule[] = [
  complaints,
  domain,
  worseIn('bounce', 'bounces'),
  worseIn('complaint', 'moreComplaints'),
  worseIn('unsubscribe', 'unsubscribes'),
  unopened,
  subject,
  content,
  weakLink,
  bestTime,
  moreReaders,
  tracking,
];
