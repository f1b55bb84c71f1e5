import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import sharp from 'sharp';
import { preferencesPage } from '../apps/api/src/public-pages/preferences.controller.js';
import { reportPage } from '../apps/api/src/public-pages/report.controller.js';
import { compileContent } from '../libs/messaging/src/content/document/content-compiler.js';
import { parseContentDocument } from '../libs/messaging/src/content/document/content-document.js';
import { compileMergeTemplate } from '../libs/messaging/src/content/merge/merge-template.js';
import { footerOf } from '../libs/messaging/src/content/processes/content-processes.service.js';
import { projectRoot } from '../libs/platform/src/project-root.js';
import { PAUSE_DAYS } from '../libs/audience/src/index.js';
import { Wording } from '../libs/wording/src/index.js';
import type { ApiClient } from '#testing/http/api-client';
import { Browser, type Shot } from '#testing/servers/browser';
import { eventually } from '#testing/time/eventually';
import { startSystemOn } from '#testing/programs/system';
import { startBenchServer } from './support/bench-server.js';
import { readerJourney } from '#testing/fixtures/reader-journey';
import { sampleContent } from './support/sample-mail.js';
import { sampleReport } from './support/sample-report.js';

/** Makes the pictures of docs/images anew: `npm run screenshots`. Needs Chromium (`CHROMIUM` says where). */
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const IMAGES = join(projectRoot(), 'docs/images');
const SENDER = {
  name: 'Alpine Supplies',
  postalAddress: 'Marktgasse 12\n6300 Zug',
  logoUrl: null,
  color: null,
};
const ENGLISH = new Wording('en');
const SUBSCRIBER = {
  email: 'ada@example.com',
  external_id: null,
  first_name: 'Ada',
  last_name: null,
  phone: null,
  locale: null,
  time_zone: null,
};
const TOPICS = {
  de: [
    ['Neuheiten', 'SUBSCRIBED'],
    ['Angebote für Geschäftskunden', null],
    ['Veranstaltungen', 'PENDING_CONFIRMATION'],
  ],
  ar: [
    ['المنتجات الجديدة', 'SUBSCRIBED'],
    ['العروض', null],
    ['الفعاليات', 'PENDING_CONFIRMATION'],
  ],
} as const;
/** Languages whose journey is kept as a picture, with the zone of most of their readers. */
const JOURNEYS = {
  en: ['Europe/London', ['Product news', 'Offers', 'Events']],
  de: ['Europe/Berlin', ['Neuheiten', 'Angebote für Geschäftskunden', 'Veranstaltungen']],
  es: ['Europe/Madrid', ['Novedades', 'Ofertas', 'Eventos']],
  ja: ['Asia/Tokyo', ['新製品', 'お得なキャンペーン情報', 'イベント']],
  ar: ['Asia/Riyadh', ['المنتجات الجديدة', 'العروض', 'الفعاليات']],
  'pt-BR': ['America/Sao_Paulo', ['Novidades', 'Ofertas', 'Eventos']],
} as const;
const JOURNEY_STEPS = ['mail', 'confirm', 'confirmed', 'preferences', 'unsubscribed', 'undone'];
const JOURNEY_HEIGHT = 1_300;
const SCHEMES = ['light', 'dark'] as const;

// The pictures shall not hang on a network: the image of the mail is drawn here.
const LANDSCAPE =
  '<rect width="552" height="240" fill="#f4d9c6"/><circle cx="410" cy="84" r="34" fill="#e2502c"/>' +
  '<path d="M0 200 120 92 210 168 330 60 552 214V240H0z" fill="#7fa596"/><path d="M0 240V206L150 150 300 214 420 160 552 216V240z" fill="#1c5a4a"/>';
const BOX = `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" width="552" height="240">${LANDSCAPE}</svg>`)}`;

async function sampleMail(): Promise<string> {
  const { document, errors } = parseContentDocument(JSON.stringify(sampleContent));
  if (errors !== undefined) throw new Error(JSON.stringify(errors));
  const footer = footerOf({ senderName: SENDER.name, postalAddress: SENDER.postalAddress }, ENGLISH);
  const { html } = await compileContent({
    subject: 'Spring is here',
    previewText: 'All jackets 20 % less',
    document,
    contentText: null,
    footer,
  });
  const links = {
    unsubscribe: 'https://mail.example/u/x',
    preferences: 'https://mail.example/p/x',
    view: 'https://mail.example/v/x',
  };
  const values = {
    subscriber: SUBSCRIBER,
    custom: {},
    topic: { name: 'News', key: 'APIT-1' },
    campaign: { name: 'Spring', key: 'APIT-001' },
    project: { name: SENDER.name, postal_address: SENDER.postalAddress },
    links,
  };
  return compileMergeTemplate(html, 'html').render(values).replaceAll('https://shop.example/jacket.png', BOX);
}

/** The preference centre of a reader of three topics, in their language. */
function samplePreferences(locale: 'de' | 'ar'): string {
  const view = { wording: new Wording(locale), locale, version: null, sender: SENDER };
  const topics = TOPICS[locale].map(([name, status]) => ({
    topicKey: name,
    name,
    description: null,
    status,
    isActive: true,
  }));
  const standing = { email: SUBSCRIBER.email, timeZone: null, suppressed: null, pausedUntil: null, topics };
  return preferencesPage(view, standing, PAUSE_DAYS).html.toString();
}

/** The steps side by side, each as on a phone of 375 px. */
function journeyOf(locale: keyof typeof JOURNEYS): string {
  const [timeZone, topics] = JOURNEYS[locale];
  const privacy = { privacyUrl: 'https://alpine.example/privacy', contactEmail: 'data@alpine.example' };
  const steps = readerJourney({ locale, sender: { ...SENDER, ...privacy }, timeZone, topics });
  const frames = JOURNEY_STEPS.map((step) => {
    const html = (steps[step] ?? '').replaceAll('&', '&amp;').replaceAll('"', '&quot;');
    return `<iframe srcdoc="${html}" width="375" height="${JOURNEY_HEIGHT}" style="border:0" scrolling="no"></iframe>`;
  });
  return `<!doctype html><body style="display:flex;gap:8px;margin:0;background:#888">${frames.join('')}</body>`;
}

const PROJECTS = { ALPINE: 40, HARBOUR: 25, ORCHARD: 12 };
/** Shares of its people to whom each project sends, from minute to minute. */
const MINUTES = [0.3, 0.5, 0.4, 0.7, 0.9, 1, 0.8, 0.9, 0.6, 0.7, 0.5, 0.8, 0.6, 0.7];

/** Makes people of a project, of whom each topic has a share, and returns what sends a campaign to that share. */
async function audienceOf(client: ApiClient, people: number): Promise<(share: number) => Promise<void>> {
  const topics = new Map<number, string>();
  for (const share of new Set(MINUTES)) {
    const topic = await client.post('/topics', { name: `News ${share}`, doubleOptInEnabled: false });
    topics.set(share, topic.at('id'));
    const some = Math.round(people * share);
    const rows = Array.from({ length: some }, (_, n) => ({ email: `reader${n}@example.com` }));
    const topicKeys = [topic.at('topicKey')];
    const asked = { rows, topicKeys, consent: { source: 'picture' } };
    const path = `/subscriber-imports/${(await client.post('/subscriber-imports', asked)).at('id')}`;
    await eventually('they are there', async () => (await client.get(path)).at('status') === 'COMPLETED');
  }
  return async (share) => {
    const topicIds = [topics.get(share)];
    const draft = { name: 'Spring', subject: 'Spring is here', contentText: 'All jackets', topicIds };
    const path = `/campaigns/${(await client.post('/campaigns', draft)).at('campaignKey')}`;
    await client.post(`${path}/send`);
    await eventually('it is sent', async () => (await client.get(path)).at('status') === 'SENT');
  };
}

/** The operator's page of a system that has sent for some minutes. */
async function operatorsPage(browser: Browser): Promise<Buffer> {
  const server = await startBenchServer();
  const system = await startSystemOn(server.database);
  try {
    const sends = await Promise.all(
      Object.entries(PROJECTS).map(async ([key, people]) =>
        audienceOf(await (await system.project(key)).client('TEST'), people),
      ),
    );
    for (const share of MINUTES) {
      await Promise.all(sends.map((send) => send(share)));
      await system.advanceClock(60_000);
    }
    const command = [
      'dist/apps/cli/src/main.js',
      'operator-key:create',
      '--name',
      'Picture',
      '--scopes',
      'system:read',
      '--json',
    ];
    const env = { ...process.env, ...system.variables };
    const made = execFileSync(process.execPath, command, { cwd: projectRoot(), env, encoding: 'utf8' });
    const { key } = JSON.parse(made) as { readonly key: string };
    await browser.open(`${system.baseUrl}/operator`);
    await browser.run(`(() => {
      document.querySelector('form input').value = ${JSON.stringify(key)};
      document.querySelector('form').requestSubmit();
    })()`);
    await eventually('it shows figures', () =>
      browser.run<boolean>(`document.querySelector('.figures dd') !== null`),
    );
    return await browser.shoot({ width: 1_000, scheme: 'light', most: 900 });
  } finally {
    await system.stop();
    await server.stop();
  }
}

/** First picture of the README: a mail, its report and the operator's page, side by side. */
async function overview(browser: Browser, mail: string, report: string): Promise<void> {
  const operator = await operatorsPage(browser);
  const shot = async (html: string, width: number, most: number): Promise<Buffer> => {
    await browser.show(html);
    return browser.shoot({ width, scheme: 'light', most });
  };
  const image = (png: Buffer, style: string) =>
    `<img src="data:image/png;base64,${png.toString('base64')}" style="position:absolute;border-radius:12px;box-shadow:0 18px 50px #0a162b55;${style}">`;
  await browser.show(`<!doctype html><body style="margin:0;height:800px;position:relative;overflow:hidden;background:linear-gradient(120deg,#dfe7f5,#f6ded4)">
    ${image(await shot(report, 1_000, 1_100), 'left:290px;top:60px;width:620px')}
    ${image(operator, 'left:640px;top:210px;width:700px')}
    ${image(await shot(mail, 375, 860), 'left:60px;top:100px;width:280px')}`);
  const file = join(IMAGES, 'overview.png');
  await writeFile(file, await browser.shoot({ width: 1_400, scheme: 'light', most: 800 }));
  process.stdout.write(`${file}\n`);
}

/** A picture in 256 colours, which is a third of its size. */
const smaller = (png: Buffer): Promise<Buffer> => sharp(png).png({ palette: true, effort: 10 }).toBuffer();

async function keep(browser: Browser, name: string, html: string, shot: Shot): Promise<void> {
  await browser.show(html);
  const image = await smaller(await browser.shoot(shot));
  const file = join(IMAGES, `${name}-${shot.width}-${shot.scheme}.png`);
  await writeFile(file, image);
  process.stdout.write(`${file}  ${Math.round(image.length / 1_000)} kB\n`);
}

const chromium = process.env['CHROMIUM'] ?? CHROMIUM.find((path) => existsSync(path));
if (chromium === undefined) throw new Error('There is no Chromium; CHROMIUM=… says where one is.');
await mkdir(IMAGES, { recursive: true });
const browser = await Browser.start(chromium);
try {
  const report = reportPage({ wording: ENGLISH, locale: 'en', sender: SENDER }, sampleReport).html.toString();
  const mail = await sampleMail();
  await overview(browser, mail, report);
  for (const scheme of SCHEMES) {
    for (const [width, most] of [
      [375, 2_400],
      [1_000, 2_000],
    ] as const)
      await keep(browser, 'report', report, { width, scheme, most });
  }
  const sheet = JOURNEY_STEPS.length * 383 - 8;
  for (const locale of Object.keys(JOURNEYS) as (keyof typeof JOURNEYS)[]) {
    await browser.show(journeyOf(locale));
    // Buttons to undo come a second after their page.
    await setTimeout(1_500);
    const file = join(IMAGES, `journey-${locale}.png`);
    await writeFile(file, await smaller(await browser.shoot({ width: sheet, scheme: 'light' })));
    process.stdout.write(`${file}\n`);
  }
  const preferences = samplePreferences('de');
  await keep(browser, 'preferences-de', preferences, { width: 375, scheme: 'light' });
  await keep(browser, 'preferences-ar', samplePreferences('ar'), { width: 375, scheme: 'dark' });
  for (const [name, html] of Object.entries({ report, mail, preferences })) {
    await browser.look({ width: 375, scheme: 'light' });
    await browser.show(html);
    const width = await browser.run<number>('document.documentElement.scrollWidth');
    if (width > 375) throw new Error(`The ${name} is ${width} px wide on a phone of 375 px.`);
  }
  const [directory] = process.argv.slice(2);
  if (directory !== undefined) {
    await browser.show(report);
    await writeFile(join(directory, 'report.pdf'), await browser.print());
  }
} finally {
  await browser.stop();
}
