import { ratesOf } from '../statistics/campaign-statistics.js';
import type { ReportFacts } from '../statistics/report-facts.js';
import { bestHour, COMPLAINT_LIMIT, rankedLinks, tooManyComplaints, unusualDomains } from './details.js';
import { address, count, type Finding, finding, hour, quote, share } from './finding.js';
import { METRICS, type MetricComparison } from './metrics.js';
import { proportion, shareOf } from './proportion.js';

/** A past campaign with fewer mails says too little to be held up as an example. */
const FEWEST_OF_EXAMPLE = 100;

type Rule = (facts: ReportFacts, compared: readonly MetricComparison[]) => Finding | null;

/** The one thing to do next, tied to the number that calls for it: what harms delivery first, then what readers do. */
export function recommendation(facts: ReportFacts, compared: readonly MetricComparison[]): Finding {
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

/** What people did not follow though they opened. */
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
 * How many mails would show a change by a tenth of the open rate: 16·p·(1−p)/(p/10)² = 1600·(1−p)/p, which finds it in four of five
 * cases (R. Lehr, Statistics in Medicine 11, 1992).
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
