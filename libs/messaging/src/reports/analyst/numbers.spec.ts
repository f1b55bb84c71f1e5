import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { loadReportLocale } from '../writing/report-writing.service.js';
import type { ReportFacts } from '../statistics/report-facts.js';
import { countsOf, factsOf } from '#testing/fixtures/report-facts';
import { analyse } from './analysis.js';
import { reportText } from './report-text.js';

const RUNS = fc.runs(150);

describe('The built-in analyst', () => {
  it('never writes a number that does not follow from the facts, in any language', () => {
    fc.assert(
      fc.property(
        anyFacts,
        fc.constantFrom(loadReportLocale('en'), loadReportLocale('pl')),
        (facts, locale) => {
          const allowed = numbersThatFollow(facts, locale.tag);
          const invented = numbersIn(reportText(analyse(facts), locale)).filter((text) => !allowed.has(text));
          expect(invented).toEqual([]);
        },
      ),
      { numRuns: RUNS },
    );
  });
});

const anyCounts = fc
  .tuple(...Array.from({ length: 8 }, () => fc.double({ min: 0, max: 1, noNaN: true })), fc.nat(50_000))
  .map((drawn) => {
    const sent = drawn[8] ?? 0;
    const part = (index: number, of: number) => Math.floor((drawn[index] ?? 0) ** 3 * of);
    const hardBounced = part(0, sent);
    const softBounced = part(1, sent - hardBounced);
    const delivered = sent - hardBounced - softBounced;
    const uniqueOpens = part(2, delivered);
    const uniqueClicks = part(3, uniqueOpens);
    return countsOf({
      totalSent: sent,
      hardBounced,
      softBounced,
      uniqueOpens,
      totalOpened: uniqueOpens * 2,
      uniqueClicks,
      totalClicked: uniqueClicks * 2,
      totalUnsubscribed: part(4, delivered),
      spamComplaints: part(5, delivered),
    });
  });

const anyFacts: fc.Arbitrary<ReportFacts> = fc
  .record({
    campaign: fc.constant({ name: 'May', subject: 'May' }),
    isEarly: fc.boolean(),
    areOpensDue: fc.boolean(),
    isTracked: fc.boolean(),
    counts: anyCounts,
    history: fc.array(
      fc.record({ name: fc.constant('Earlier'), counts: anyCounts, isTracked: fc.boolean() }),
      {
        maxLength: 20,
      },
    ),
    clickers: fc.integer({ min: 300, max: 900 }),
    links: fc.array(
      fc.record({ url: fc.constantFrom('https://x/a', 'https://x/b', 'https://x/c'), clickers: fc.nat(300) }),
      {
        maxLength: 4,
      },
    ),
    hours: fc.uniqueArray(fc.record({ hour: fc.nat(23), opens: fc.nat(900) }), {
      selector: ({ hour }) => hour,
    }),
    domains: fc.uniqueArray(
      fc.record({
        domain: fc.constantFrom('a.example', 'b.example', 'c.example'),
        mails: fc.integer({ min: 500, max: 900 }),
        undelivered: fc.nat(500),
      }),
      { selector: ({ domain }) => domain },
    ),
  })
  .map(factsOf);

function numbersIn(text: string): string[] {
  return [...text.matchAll(/\d[\d.,\u00A0:]*%?/g)].map(([number]) => number.replace(/[.,:]$/, ''));
}

/** All that may be written: counts, shares of them, their intervals, ranks, hours; worked out here without the analyst. */
function numbersThatFollow(facts: ReportFacts, tag: string): Set<string> {
  const { counts, links, hours, domains, clickers } = facts;
  const allowed = new Set<string>();
  const whole = (value: number) => allowed.add(new Intl.NumberFormat(tag).format(value));
  const percent = (value: number) => {
    for (const maximumFractionDigits of [1, 2])
      allowed.add(new Intl.NumberFormat(tag, { style: 'percent', maximumFractionDigits }).format(value));
  };
  const delivered = (of: typeof counts) => of.totalSent - of.hardBounced - of.softBounced;
  const pairs = (of: typeof counts): [number, number][] => [
    [of.uniqueOpens, delivered(of)],
    [of.uniqueClicks, delivered(of)],
    [of.uniqueClicks, of.uniqueOpens],
    [of.totalUnsubscribed, delivered(of)],
    [of.spamComplaints, delivered(of)],
    [of.hardBounced + of.softBounced, of.totalSent],
    [delivered(of), of.totalSent],
  ];
  const sumOf = (list: readonly (typeof counts)[]) =>
    pairs(countsOf({})).map((_, index): [number, number] => {
      const column = list.map((of): [number, number] => pairs(of)[index] ?? [0, 0]);
      return [column.reduce((sum, [part]) => sum + part, 0), column.reduce((sum, [, of]) => sum + of, 0)];
    });
  const past = facts.history.map((one) => one.counts);
  const tracked = facts.history.filter(({ isTracked }) => isTracked).map((one) => one.counts);
  const opens = hours.reduce((sum, one) => sum + one.opens, 0);
  const mails = domains.reduce((sum, one) => sum + one.mails, 0);
  const lost = domains.reduce((sum, one) => sum + one.undelivered, 0);
  const ratios: [number, number][] = [
    ...pairs(counts),
    ...past.flatMap(pairs),
    ...sumOf(past),
    ...sumOf(tracked),
    ...links.map((link): [number, number] => [link.clickers, clickers]),
    ...hours.map((one): [number, number] => [one.opens, opens]),
    ...domains.flatMap((one): [number, number][] => [
      [one.undelivered, one.mails],
      [lost - one.undelivered, mails - one.mails],
    ]),
  ];
  for (const [part, of] of ratios) percent(of === 0 ? 0 : part / of);
  for (const [part, of] of pairs(counts)) [part, of].forEach(whole);
  for (const { mails: of, undelivered } of domains) [of, undelivered].forEach(whole);
  for (const bound of scoreBounds(counts.uniqueOpens, delivered(counts))) percent(bound);
  for (const { clickers: of } of links) whole(of);
  for (const { hour, opens: of } of hours) {
    whole(of);
    for (const at of [hour, (hour + 1) % 24]) allowed.add(`${at < 10 ? '0' : ''}${at}:00`);
  }
  for (let rank = 0; rank <= facts.history.length + 1; rank += 1) whole(rank);
  [opens, clickers].forEach(whole);
  const unopened = delivered(counts) - counts.uniqueOpens;
  if (counts.uniqueOpens > 0) whole(Math.ceil((1_600 * unopened) / counts.uniqueOpens));
  // The report's own: 95 % of intervals, 1 % of comparisons, the providers' 0.1 % of complaints.
  [0.95, 0.01, 0.001].forEach(percent);
  return allowed;
}

/** The roots p of (x/n − p)² = z² p(1 − p)/n: what Wilson's interval is bounded by. */
function scoreBounds(x: number, n: number): number[] {
  if (n === 0) return [0, 1];
  const z2 = 1.959_963_984_540_054 ** 2;
  const [a, b, c] = [1 + z2 / n, -(2 * (x / n) + z2 / n), (x / n) ** 2];
  const root = Math.sqrt(Math.max(0, b * b - 4 * a * c));
  return [x === 0 ? 0 : (-b - root) / (2 * a), x === n ? 1 : (-b + root) / (2 * a)];
}
