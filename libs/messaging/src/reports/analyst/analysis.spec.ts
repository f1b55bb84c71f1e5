import { describe, expect, it } from '@jest/globals';
import { loadReportLocale } from '../writing/report-writing.service.js';
import type { ReportFacts } from '../statistics/report-facts.js';
import { countsOf, factsOf, pastCampaign } from '#testing/fixtures/report-facts';
import { analyse } from './analysis.js';
import { reportText } from './report-text.js';

const english = loadReportLocale('en');
const polish = loadReportLocale('pl');

const usual = { totalSent: 1_000, uniqueOpens: 200, uniqueClicks: 40, totalUnsubscribed: 5 };
const history = Array.from({ length: 6 }, (_, index) => pastCampaign(usual, `Number ${index}`));
const write = (facts: Partial<ReportFacts>, locale = english) => reportText(analyse(factsOf(facts)), locale);

/** The text below a heading. */
function sectionOf(text: string, heading: string): string {
  return text.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
}
const recommendationOf = (facts: Partial<ReportFacts>) => sectionOf(write(facts), 'Recommendation');

describe('The built-in analyst', () => {
  it('writes a summary, what worked, what to improve and one recommendation', () => {
    const text = write({ counts: countsOf(usual), history });
    expect([...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)).toEqual([
      'Summary',
      'What worked',
      'What to improve',
      'Recommendation',
    ]);
  });

  it('says of a campaign like those before that it is not clearly different', () => {
    const text = write({ counts: countsOf(usual), history });
    expect(sectionOf(text, 'Summary')).toContain('Open rate: 20%, not clearly different from 20% before.');
    expect(sectionOf(text, 'What worked')).toContain('Nothing stands out from chance.');
    expect(sectionOf(text, 'What to improve')).toContain('Nothing stands out from chance.');
  });

  it('calls a rate better or worse only when chance hardly makes such a difference, and ranks it', () => {
    const counts = countsOf({ ...usual, uniqueOpens: 300, totalUnsubscribed: 40 });
    const text = write({ counts, history });
    expect(sectionOf(text, 'What worked')).toContain(
      'Open rate: 30% against 20% before, significantly better. Rank 1 of 7.',
    );
    expect(sectionOf(text, 'What to improve')).toContain(
      'Unsubscribe rate: 4% against 0.5% before, significantly worse. Rank 7 of 7.',
    );
  });

  it('says that a handful of mails are too few to tell', () => {
    const text = write({ counts: countsOf({ totalSent: 8, uniqueOpens: 4, uniqueClicks: 1 }), history });
    expect(sectionOf(text, 'Summary')).toContain(
      'Open rate: 50% (4 of 8) against 20% before. These are too few to tell whether it changed.',
    );
    expect(text).not.toContain('significantly');
  });

  it('gives the open rate with the interval in which the true one lies', () => {
    const text = write({ counts: countsOf({ totalSent: 263, uniqueOpens: 81 }) });
    expect(text).toContain(
      '81 of them were opened (30.8%; with 95% confidence the true rate lies between 25.5% and 36.6%)',
    );
  });

  it('says of a first campaign that there is nothing to compare it with', () => {
    expect(write({ counts: countsOf(usual) })).toContain(
      'There is no earlier campaign to compare it with yet.',
    );
  });

  it('says of a young campaign that the others are told as they were at its age, and draws nothing from its hours', () => {
    const hours = [
      { hour: 9, opens: 150 },
      { hour: 10, opens: 40 },
    ];
    const young = write({ counts: countsOf(usual), history, hours, isEarly: true });
    expect(young).toContain('the 6 campaigns before it, as they stood when they were as old');
    expect(young).toContain('Best hour: 09:00');
    expect(sectionOf(young, 'Recommendation')).not.toContain('09:00');
  });

  it('says nothing of opens and clicks that were not tracked, and does not compare with those that were not', () => {
    const untracked = write({
      counts: countsOf({ totalSent: 500 }),
      history,
      isTracked: false,
    });
    expect(untracked).toContain('Opens and clicks were not tracked');
    expect(untracked).not.toMatch(/Open rate|Click rate|link/);
    expect(sectionOf(untracked, 'Recommendation')).toContain('Switch tracking on: of 500 mails sent');
    const past = history.map((one) => ({ ...one, isTracked: false }));
    expect(write({ counts: countsOf(usual), history: past })).not.toContain('Open rate:');
  });

  it('has something to say when nothing was sent', () => {
    const text = write({});
    expect(text).toContain('No mail was sent');
    expect(sectionOf(text, 'Recommendation')).toContain('Check the topics and segments');
  });

  describe('of links', () => {
    const links = [
      { url: 'https://acme.example/a', clickers: 60 },
      { url: 'https://acme.example/b', clickers: 20 },
      { url: 'https://acme.example/c', clickers: 0 },
    ];

    it('names the best and the weakest', () => {
      const text = write({ counts: countsOf({ ...usual, uniqueClicks: 70 }), links, clickers: 70 });
      expect(sectionOf(text, 'What worked')).toContain(
        'Best link: `https://acme.example/a`, followed from 60 of the 70 mails with a click (85.7%), clearly ahead',
      );
      expect(sectionOf(text, 'What to improve')).toContain(
        'Weakest link: `https://acme.example/c`, followed from 0 of the 70 mails with a click (0%).',
      );
      expect(sectionOf(text, 'Recommendation')).toContain(
        'Put `https://acme.example/a` first and leave `https://acme.example/c` out',
      );
    });

    it('does not choose between two that are about the same', () => {
      const close = [links[0], { url: 'https://acme.example/b', clickers: 55 }].filter(
        (link) => link !== undefined,
      );
      const text = write({ counts: countsOf(usual), links: close, clickers: 90 });
      expect(text).toContain('`https://acme.example/b`, has 55: too close to call.');
      expect(text).not.toContain('Weakest link');
    });

    it('does not rank them by a few clicks', () => {
      const text = write({
        counts: countsOf(usual),
        links: [{ url: 'https://a.example', clickers: 3 }],
        clickers: 3,
      });
      expect(text).toContain('3 mails led to a click, too few to tell links apart.');
    });
  });

  it('names the best hour, and says when another is too close', () => {
    const counts = countsOf(usual);
    const clear = [
      { hour: 9, opens: 150 },
      { hour: 10, opens: 40 },
    ];
    expect(write({ counts, hours: clear })).toContain(
      'Best hour: 09:00 to 10:00 UTC, with 150 of 190 opens (78.9%).',
    );
    expect(recommendationOf({ counts, hours: clear })).toContain('arrive shortly before 09:00 UTC');
    const close = [
      { hour: 23, opens: 50 },
      { hour: 8, opens: 49 },
    ];
    expect(write({ counts, hours: close })).toContain(
      'Best hour: 23:00 to 00:00 UTC, with 50 of 99 opens (50.5%). The hour from 08:00 has 49: too close to call.',
    );
  });

  it('names a mailbox provider at which more than elsewhere did not arrive', () => {
    const domains = [
      { domain: 'bigmail.example', mails: 800, undelivered: 8 },
      { domain: 'oddmail.example', mails: 100, undelivered: 30 },
      { domain: 'tiny.example', mails: 30, undelivered: 1 },
    ];
    const text = write({ counts: countsOf(usual), domains });
    expect(sectionOf(text, 'What to improve')).toContain(
      '`oddmail.example`: 30 of 100 mails did not arrive (30%), against 1.1% elsewhere.',
    );
    expect(text).not.toContain('bigmail');
    expect(sectionOf(text, 'Recommendation')).toContain('why 30 mails to `oddmail.example` did not arrive');
  });

  describe('recommends what matters most', () => {
    it('complaints above what providers accept come before everything', () => {
      const counts = countsOf({ ...usual, uniqueOpens: 100, spamComplaints: 10 });
      expect(recommendationOf({ counts, history })).toContain('until complaints are below 0.1% again: at 1%');
      expect(write({ counts, history })).toContain('10 of 1,000 readers called the mail spam (1%).');
    });

    it('a fallen open rate: the subject line, with the best campaign as a model', () => {
      const best = pastCampaign({ ...usual, uniqueOpens: 310 }, 'Spring *sale*');
      const text = recommendationOf({
        counts: countsOf({ ...usual, uniqueOpens: 120 }),
        history: [...history, best],
      });
      expect(text).toContain('12% opened');
      expect(text).toContain(String.raw`Take “Spring \*sale\*” as a model, which 31% opened.`);
    });

    it('fewer clicks: the best link to the beginning', () => {
      const links = [
        { url: 'https://acme.example/a', clickers: 20 },
        { url: 'https://acme.example/b', clickers: 2 },
      ];
      const counts = countsOf({ ...usual, totalSent: 4_000, uniqueOpens: 800, uniqueClicks: 22 });
      expect(recommendationOf({ counts, history, links, clickers: 22 })).toContain(
        'Put `https://acme.example/a` at the beginning',
      );
    });

    it('more bounces, more unsubscribes: where the addresses and the audience come from', () => {
      expect(recommendationOf({ counts: countsOf({ ...usual, hardBounced: 60 }), history })).toContain(
        '6% bounced',
      );
      expect(recommendationOf({ counts: countsOf({ ...usual, totalUnsubscribed: 40 }), history })).toContain(
        '4% unsubscribed, where 0.5% is usual',
      );
    });

    it('no open at all: the spam folder', () => {
      expect(recommendationOf({ counts: countsOf({ totalSent: 40 }) })).toContain(
        'not one of 40 delivered mails',
      );
    });

    it('no open yet, so shortly after the sending that none can have come: to wait', () => {
      const just = { counts: countsOf({ totalSent: 40 }), isEarly: true, areOpensDue: false };
      expect(recommendationOf(just)).toContain('Look at this report again a day after the sending');
      expect(recommendationOf(just)).not.toContain('spam');
    });

    it('nothing else: how many mails a judgement takes', () => {
      const small = recommendationOf({ counts: countsOf({ totalSent: 100, uniqueOpens: 20 }) });
      expect(small).toContain('100 delivered mails are too few');
      expect(small).toContain('takes some 6,400 mails');
      const large = recommendationOf({ counts: countsOf({ totalSent: 10_000, uniqueOpens: 2_000 }) });
      expect(large).toContain('Change one thing next time');
    });
  });

  it('writes Polish with its own numbers and plurals', () => {
    const text = write(
      { counts: countsOf({ ...usual, uniqueOpens: 300 }), history: history.slice(0, 3) },
      polish,
    );
    expect(text).toContain('## Podsumowanie');
    expect(text).toContain('Porównano ją z 3 poprzednimi kampaniami łącznie.');
    expect(text).toContain('Wskaźnik otwarć: 30%, wcześniej 20%, istotnie lepiej. Miejsce 1 z 4.');
    expect(text).toContain('z ufnością 95% prawdziwy wskaźnik leży między 27,2% a 32,9%');
  });
});
