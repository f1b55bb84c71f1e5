import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import sharp from 'sharp';
import { reportPage } from '../../apps/api/src/public-pages/report.controller.js';
import { sampleReport } from '../../bench/support/sample-report.js';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { Wording } from '#wording';
import { Browser, type Shot } from '#testing/servers/browser';
import { readerJourney } from '#testing/fixtures/reader-journey';
import { describeWith, executableOf } from './parts.js';

const FILE = join(projectRoot(), 'test/real/looks.json');
const LOCALES = {
  en: ['Product news', 'Offers', 'Events'],
  de: ['Produktneuigkeiten', 'Sonderangebote', 'Veranstaltungen'],
  ar: ['أخبار المنتجات', 'العروض', 'الفعاليات'],
  ja: ['製品ニュース', 'キャンペーン', 'イベント'],
} as const;
type Locale = keyof typeof LOCALES;
/** A button to undo comes a second after its page, so those pages are left out. */
const STEPS = ['mail', 'confirm', 'confirmed', 'preferences', 'unsubscribe'];
const LOOKS: readonly Shot[] = [
  { width: 375, scheme: 'light', most: 1_400 },
  { width: 1_280, scheme: 'dark', most: 1_400 },
];
const SENDER = {
  name: 'Alpine Supplies',
  postalAddress: 'Marktgasse 12\n6300 Zug',
  logoUrl: null,
  color: '#1d4fd7',
  privacyUrl: 'https://alpine.example/privacy',
  contactEmail: 'data@alpine.example',
};

/** A look as figures: the brightness of its parts from 0 to f, row by row. */
const GRID = { width: 12, height: 16 };
/** Mean difference of a part, and the greatest one, that letters of another version of a font may make. */
const MOST = { mean: 0.35, one: 4 };

async function figuresOf(png: Buffer): Promise<string> {
  const grey = await sharp(png)
    .flatten({ background: '#fff' })
    .greyscale()
    .resize(GRID.width, GRID.height, { fit: 'fill', kernel: 'mitchell' })
    .raw()
    .toBuffer();
  return [...grey].map((value) => Math.round(value / 17).toString(16)).join('');
}

function differs(figures: string, known: string): boolean {
  const parts = Array.from(figures, (part, index) =>
    Math.abs(Number.parseInt(part, 16) - Number.parseInt(known[index] ?? 'f', 16)),
  );
  const mean = parts.reduce((sum, part) => sum + part, 0) / parts.length;
  return figures.length !== known.length || mean > MOST.mean || Math.max(...parts) > MOST.one;
}

function pagesIn(locale: Locale): Readonly<Record<string, string>> {
  const topics = LOCALES[locale];
  const journey = readerJourney({ locale, sender: SENDER, timeZone: 'Europe/Zurich', topics });
  const view = { wording: new Wording(locale), locale, sender: SENDER };
  const kept = Object.fromEntries(STEPS.map((step) => [step, journey[step] ?? '']));
  return { ...kept, report: reportPage(view, sampleReport).html.toString() };
}

describeWith(
  ['chromium'],
  'the pages and mails of readers look as they did when somebody looked at them',
  () => {
    let browser: Browser;
    const known = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, string>;

    beforeAll(async () => {
      browser = await Browser.start(executableOf('chromium'));
    });
    afterAll(() => browser?.stop());

    it.each(Object.keys(LOCALES) as Locale[])(
      '%s (UPDATE_LOOKS=1 keeps how they look now)',
      async (locale) => {
        const changed: string[] = [];
        for (const [name, html] of Object.entries(pagesIn(locale))) {
          await browser.show(html);
          for (const look of LOOKS) {
            const figures = await figuresOf(await browser.shoot(look));
            const key = `${name} ${locale} ${look.width} ${look.scheme}`;
            if (process.env['UPDATE_LOOKS'] !== undefined) known[key] = figures;
            if (differs(figures, known[key] ?? '')) changed.push(key);
          }
        }
        if (process.env['UPDATE_LOOKS'] !== undefined)
          writeFileSync(FILE, `${JSON.stringify(known, null, 1)}\n`);
        expect(changed).toEqual([]);
      },
    );

    it.each([
      ['a button that is gone', '.button, button, [type=submit] { visibility: hidden }'],
      ['a dark page by day', 'html { filter: invert(1) }'],
      ['a heading of twice the size', 'h1 { font-size: 4rem }'],
    ])('which %s is not', async (_what, style) => {
      await browser.show(
        pagesIn('en')['confirm']?.replace('</head>', `<style>${style}</style></head>`) ?? '',
      );
      const seen = await Promise.all(
        LOOKS.slice(0, 1).map(async (look) => figuresOf(await browser.shoot(look))),
      );
      expect(differs(seen[0] ?? '', known['confirm en 375 light'] ?? '')).toBe(true);
    });
  },
);
