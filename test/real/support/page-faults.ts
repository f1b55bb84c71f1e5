import axe from 'axe-core';
import type { Browser } from '#testing/servers/browser';

/** Each width and each scheme, once. */
const LOOKS = [
  { width: 375, scheme: 'light' },
  { width: 1_280, scheme: 'dark' },
] as const;
/** The other pairs, for English alone: no colour depends on both the language and the width. */
const MORE_LOOKS = [
  { width: 375, scheme: 'dark' },
  { width: 1_280, scheme: 'light' },
] as const;
/** Landmarks of a mail are those of the program that shows it. */
const MAIL_RULES = { region: { enabled: false }, 'landmark-one-main': { enabled: false } };

export interface Expected {
  readonly locale: string;
  readonly isMail?: boolean;
}

interface Found {
  readonly locale: string;
  readonly direction: string;
  readonly width: number;
  readonly small: readonly string[];
  readonly violations: readonly string[];
}

/** Faults of the open page that a reader would trip over, on a phone and a desk, by day and by night. */
export async function pageFaults(
  browser: Browser,
  { locale, isMail = false }: Expected,
): Promise<readonly string[]> {
  const faults: string[] = [];
  const direction = locale === 'ar' ? 'rtl' : 'ltr';
  await browser.run(`${axe.source}; true`);
  for (const look of locale === 'en' ? [...LOOKS, ...MORE_LOOKS] : LOOKS) {
    await browser.look(look);
    const found = await browser.run<Found>(inspection(isMail));
    faults.push(
      ...[
        ...found.violations,
        ...found.small.map((element) => `${element} is too small to be tapped`),
        ...(found.width > look.width ? [`it is ${found.width} px wide`] : []),
        ...(found.locale === locale ? [] : [`its language is ${found.locale}`]),
        ...(found.direction === direction ? [] : [`it runs ${found.direction}`]),
      ].map((fault) => `${look.width} px, ${look.scheme}: ${fault}`),
    );
  }
  return faults;
}

/** Script of the inspection. An element in a line of text is as high as the line (WCAG 2.2 §2.5.8), so that axe alone looks at it. */
function inspection(isMail: boolean): string {
  const rules = { 'target-size': { enabled: true }, ...(isMail ? MAIL_RULES : {}) };
  return `axe.run(document, ${JSON.stringify({ rules, resultTypes: ['violations'] })}).then(({ violations }) => ({
      locale: document.documentElement.lang,
      direction: getComputedStyle(document.documentElement).direction,
      width: document.scrollingElement.scrollWidth,
      small: [...document.querySelectorAll('a, button, summary')]
        .filter((element) => element.checkVisibility() && getComputedStyle(element).display !== 'inline')
        .filter((element) => {
          const { width, height } = element.getBoundingClientRect();
          return width < 24 || height < 24;
        })
        .map((element) => element.outerHTML),
      violations: violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => id + ' at ' + target.join(' ') + ': ' + failureSummary)),
    }))`;
}

/** Number of edges at which the actions of the topics end, and their backgrounds and borders. */
export const ACTIONS = `(() => {
  const rtl = document.dir === 'rtl';
  const last = [...document.querySelectorAll('.actions')].map((actions) => actions.lastElementChild);
  const all = [...document.querySelectorAll('.actions button')].map((button) => getComputedStyle(button));
  return {
    edges: new Set(last.map((button) => button.getBoundingClientRect()[rtl ? 'left' : 'right'])).size,
    backgrounds: [...new Set(all.map(({ backgroundColor }) => backgroundColor))],
    borders: [...new Set(all.map(({ borderTopWidth }) => borderTopWidth))],
  };
})()`;

/** Shapes of a report's charts. */
export const BARS = `(() => {
  const columns = [...document.querySelectorAll('rect.column')].map((column) => column.getBoundingClientRect());
  const { width } = document.querySelector('.chart svg').getBoundingClientRect();
  return {
    bars: columns.some(({ height }) => height > 0),
    slim: columns.every((column) => column.width < width / 12),
    areas: document.querySelectorAll('.chart .area').length,
  };
})()`;
