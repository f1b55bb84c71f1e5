import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { reportPage } from '../../apps/api/src/public-pages/report.controller.js';
import { sampleReport } from '../../bench/support/sample-report.js';
import { SHIPPED_LOCALES } from '#kernel';
import { Browser } from '#testing/servers/browser';
import { readerJourney } from '#testing/fixtures/reader-journey';
import { Wording } from '#wording';
import { describeWith, executableOf } from './parts.js';

const WIDTHS = [320, 375] as const;
const RIGHT_TO_LEFT: readonly string[] = ['ar', 'he'];
const SENDER = {
  name: 'Vereinigte Dampfschifffahrtsgesellschaft der Donauanrainer mbH & Co. KG',
  postalAddress: 'Marktgasse 12\n6300 Zug',
  privacyUrl: 'https://acme.example/privacy',
  contactEmail: 'privacy-and-other-questions@dampfschiff.example',
  logoUrl: null,
  color: '#b3261e',
};
const TOPICS = ['News', 'Sonderangebote für Geschäftskundinnen und -kunden', 'Events', 'Jobs', 'Press'];

/** Longer words than this may have to be broken on a small phone; of Korean, whose letters are twice as wide. */
const LETTERS = 14;
const SYLLABLES = 7;

/** Elements that are wider than the window, or than the button that they are on, and words that are cut in two. */
const FAULTS = `(() => {
  const width = document.documentElement.clientWidth;
  const wide = document.scrollingElement.scrollWidth;
  const faults = wide > width ? ['the page is ' + wide + ' px wide'] : [];
  for (const element of document.querySelectorAll('a, button, summary, h1, h2')) {
    if (!element.checkVisibility()) continue;
    const { left, right } = element.getBoundingClientRect();
    const cut = element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display !== 'inline';
    if (left < -1 || right > width + 1 || cut) faults.push(element.textContent.trim() + ' does not fit');
  }
  const range = document.createRange();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { currentNode } = texts;
    if (!currentNode.parentElement.checkVisibility()) continue;
    for (const { 0: word, index } of currentNode.data.matchAll(/(?<![^\\s-])\\p{L}+(?=[\\s,.:;!?-]|$)/gu)) {
      if (word.length > (/\\p{scx=Hangul}/u.test(word) ? ${SYLLABLES} : ${LETTERS}) || /[\\p{scx=Han}\\p{scx=Kana}]/u.test(word)) continue;
      range.setStart(currentNode, index);
      range.setEnd(currentNode, index + word.length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1) faults.push(word + ' is cut in two');
    }
  }
  return { direction: getComputedStyle(document.documentElement).direction, lang: document.documentElement.lang, faults };
})()`;

describeWith(['chromium'], 'the words that readers see, on the smallest phones', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await Browser.start(executableOf('chromium'));
  });
  afterAll(() => browser?.stop());

  it.each(SHIPPED_LOCALES)(
    'fit from the opt-in mail to the undone unsubscription, and the report: %s',
    async (locale) => {
      const journey = readerJourney({ locale, sender: SENDER, timeZone: 'Pacific/Auckland', topics: TOPICS });
      const view = { wording: new Wording(locale), locale, version: null, sender: SENDER };
      const report = reportPage(view, sampleReport).html.toString();
      const direction = RIGHT_TO_LEFT.includes(locale) ? 'rtl' : 'ltr';
      for (const [name, html] of Object.entries({ ...journey, report })) {
        await browser.show(html);
        for (const width of WIDTHS) {
          await browser.look({ width, scheme: 'light' });
          const found = await browser.run<object>(FAULTS);
          expect({ name, width, ...found }).toEqual({ name, width, direction, lang: locale, faults: [] });
        }
      }
    },
  );
});
