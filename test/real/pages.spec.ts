import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { LinkTokens } from '../../libs/platform/src/secrets/link-tokens.js';
import type { ApiClient } from '#testing/http/api-client';
import { Browser } from '#testing/servers/browser';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { type RunningSystem, startSystem, type SystemProject } from '#testing/programs/system';
import { describeWith, executableOf } from './parts.js';
import { ACTIONS, BARS, type Expected, pageFaults } from './support/page-faults.js';

const LOCALES = ['en', 'de', 'ar', 'ja'] as const;
type Locale = (typeof LOCALES)[number];
/** Names of topics and words of a campaign. */
const WORDS = {
  en: ['Product news', 'Offers', 'Spring is here'],
  de: ['Produktneuigkeiten', 'Sonderangebote für Geschäftskundinnen und -kunden', 'Der Frühling ist da'],
  ar: ['أخبار المنتجات', 'العروض', 'وصل الربيع'],
  ja: ['製品ニュース', 'お得なキャンペーン情報', '春が来ました'],
} as const;
const consent = { source: 'form' };

interface Links {
  readonly confirm: string;
  readonly unsubscribe: string;
  readonly preferences: string;
  readonly view: string;
}

describeWith(['chromium'], 'what readers see in a browser', () => {
  let system: RunningSystem;
  let project: SystemProject;
  let client: ApiClient;
  let browser: Browser;
  let topics: readonly { readonly id: string; readonly topicKey: string }[];
  let campaignKey: string;

  beforeAll(async () => {
    system = await startSystem({ INVOICE_SELLER_NAME: 'Mailwright Ltd', INVOICE_TAX_RATE: '23' });
    project = await system.project();
    client = await project.client('TEST');
    const brand = { color: '#b3261e' };
    const senderName = 'Vereinigte Dampfschifffahrtsgesellschaft der Donauanrainer mbH & Co. KG';
    const privacy = { privacyUrl: 'https://acme.example/privacy', contactEmail: 'data@acme.example' };
    const settings = { brand, senderName, ...privacy, postalAddress: 'Marktgasse 12\n6300 Zug' };
    expect((await client.patch('/project', settings)).status).toBe(200);
    topics = [await topic(0, false), await topic(1, true)];
    for (const locale of LOCALES) await reader(locale, 'clicked');
    campaignKey = await campaign();
    browser = await Browser.start(executableOf('chromium'));
  });
  afterAll(async () => {
    await browser?.stop();
    await system?.stop();
  });

  async function topic(index: 0 | 1, doubleOptInEnabled: boolean) {
    const { en, ...others } = WORDS;
    const translations = Object.fromEntries(
      Object.entries(others).map(([locale, words]) => [locale, { name: words[index] }]),
    );
    const created = await client.post('/topics', { name: en[index], doubleOptInEnabled, translations });
    return created.body as { readonly id: string; readonly topicKey: string };
  }
  async function reader(locale: Locale, name: string): Promise<string> {
    const email = `${name}+${locale}@example.com`;
    const topicKeys = topics.map(({ topicKey }) => topicKey);
    expect((await client.post('/subscribers', { email, locale, topicKeys, consent })).status).toBe(201);
    return email;
  }
  async function campaign(): Promise<string> {
    const contentOf = ([, , title]: (typeof WORDS)[Locale]) => ({
      subject: title,
      contentJson: JSON.stringify({
        blocks: [
          { type: 'heading', level: 1, text: title },
          { type: 'button', label: title, url: 'https://shop.example/spring' },
        ],
      }),
    });
    const { en, ...others } = WORDS;
    const translations = Object.fromEntries(
      Object.entries(others).map(([locale, words]) => [locale, contentOf(words)]),
    );
    const draft = { name: en[2], ...contentOf(en), translations, topicIds: [topics[0]?.id] };
    const key: string = (await client.post('/campaigns', draft)).at('campaignKey');
    expect((await client.post(`/campaigns/${key}/send`)).status).toBe(200);
    return key;
  }
  async function mailTo(email: string, kind: 'OPT_IN' | 'CAMPAIGN') {
    const list = await eventually(`the mail to ${email}`, async () => {
      const answer = await client.get(`/test-inbox/messages?kind=${kind}&to=${encodeURIComponent(email)}`);
      return answer.at<unknown[]>('data').length > 0 && answer;
    });
    const opened = await client.get(`/test-inbox/messages/${list.at('data', 0, 'id')}`);
    return { html: opened.at('html'), links: opened.at<Links>('links') };
  }
  /** Fails with what a reader would trip over on the page that is open. */
  async function look(expected: Expected, name: string): Promise<void> {
    expect({ name, faults: await pageFaults(browser, expected) }).toEqual({ name, faults: [] });
  }
  const follow = async (locale: Locale, url: string, name: string): Promise<void> => {
    await browser.open(url, locale);
    await look({ locale }, name);
  };
  const press = async (locale: Locale, selector: string, name: string): Promise<void> => {
    await browser.press(selector);
    await look({ locale }, name);
  };

  it.each(LOCALES)('confirm a subscription, from the mail to the last page: %s', async (locale) => {
    const { html, links } = await mailTo(await reader(locale, 'confirms'), 'OPT_IN');
    await browser.show(html);
    await look({ locale, isMail: true }, 'the opt-in mail');
    await follow(locale, past(links.confirm), 'expired');
    await press(locale, 'button', 'asked again too soon');
    await follow(locale, links.confirm, 'to confirm');
    await press(locale, 'button', 'confirmed');
    await follow(locale, links.confirm, 'confirmed before');
    await press(locale, 'button', 'nothing to confirm');
    await follow(locale, links.confirm.replace(/.$/, '_'), 'not found');
  });
  /** The same link, when its time is over. */
  function past(link: string): string {
    const token = link.split('/').at(-1) ?? '';
    const tokens = new LinkTokens(system.variables['TOKEN_SECRET'] ?? '');
    const claims = tokens.verify(token, 'confirm');
    if (claims === null) throw new Error('The link is not signed with the secret.');
    return link.replace(token, tokens.sign({ ...claims, expiresAt: new Date(0) }));
  }

  it.each(LOCALES)('choose, pause and leave, from a mail that can be viewed here: %s', async (locale) => {
    const { links, html } = await mailTo(`clicked+${locale}@example.com`, 'CAMPAIGN');
    expect(html).toContain(links.view);
    // Its policy would keep axe out too.
    await browser.show(await (await fetch(links.view)).text());
    await look({ locale, isMail: true }, 'the mail in the browser');
    await follow(locale, links.preferences, 'preferences');
    expect(await browser.run(ACTIONS)).toEqual({
      edges: 1,
      backgrounds: ['rgba(0, 0, 0, 0)'],
      borders: ['0px'],
    });
    await browser.run(`document.querySelector('.languages').open = true`);
    await look({ locale }, 'preferences with their languages');
    await press(locale, '[name=pause]', 'paused');
    await press(locale, '[name=resume]', 'no longer paused');
    await press(locale, '[name=scope]', 'asked once more');
    await browser.press('[value=everything]');
    await look({ locale }, 'everything can be undone');
    await press(locale, '[name=undo]', 'everything undone');
    await press(locale, '[name=leave]', 'a topic can be undone');
    await press(locale, '[name=undo]', 'a topic undone');
    await follow(locale, links.unsubscribe, 'to unsubscribe');
    expect(await tappedTwice('[value=topics]')).toEqual([]);
    await look({ locale }, 'unsubscribed from the topic');
    await press(locale, '[name=undo]', 'the topic undone');
    await follow(locale, links.unsubscribe, 'to unsubscribe again');
    await browser.press('[value=topics]');
    await browser.run(`document.querySelector('main details').open = true`);
    await look({ locale }, 'unsubscribed, with everything');
    await press(locale, '[value=everything]', 'unsubscribed from everything');
    await follow(locale, links.preferences, 'preferences of who gets nothing');
  });

  it('move no mail sideways on a phone, however wide the tables and images of its author are', async () => {
    const cells = (count: number, width: number) => `<td width="${width}">Lieferzeitraum</td>`.repeat(count);
    const html = `<table width="900"><tr>${cells(3, 300)}</tr></table><table border="1"><tr>${cells(12, 80)}</tr></table>
      <div style="width:800px;background:#eeeeee">wide</div><img src="https://cdn.example/a.png" alt="a" width="900" height="20">`;
    const contentJson = JSON.stringify({ blocks: [{ type: 'html', html }] });
    const draft = { name: 'Wide', subject: 'Wide', contentJson, topicIds: [topics[0]?.id] };
    const key: string = (await client.post('/campaigns', draft)).at('campaignKey');
    const preview = await client.get(`/campaigns/${key}/preview`);
    await browser.show(preview.at('html'));
    for (const width of [375, 320]) {
      await browser.look({ width, scheme: 'light' });
      expect(await browser.run('document.scrollingElement.scrollWidth')).toBe(width);
    }
  });

  /** Elements that a second tap would press on a phone: all at the place of the button, once the next page is there. */
  async function tappedTwice(selector: string): Promise<readonly string[]> {
    await browser.look({ width: 375, scheme: 'light' });
    const { top, bottom } = await browser.run<{ top: number; bottom: number }>(
      `(({ top, bottom }) => ({ top, bottom }))(document.querySelector('${selector}').getBoundingClientRect())`,
    );
    await browser.press(selector);
    return browser.run(`[...document.querySelectorAll('a, button, summary')]
      .filter((element) => element.checkVisibility({ visibilityProperty: true }))
      .filter((element) => {
        const place = element.getBoundingClientRect();
        return place.top < ${bottom} && place.bottom > ${top};
      })
      .map((element) => element.outerHTML)`);
  }

  it('read the report of a small campaign, with bars', async () => {
    const { tenant, key } = await names();
    const args = ['--project', `${tenant}/${key}`, '--env', 'test', '--campaign', campaignKey];
    const link = await runCliForJson(system.variables, ['report:link', ...args]);
    for (const locale of LOCALES) {
      await browser.open(String(link['url']), locale);
      expect(await browser.run(BARS)).toEqual({ bars: true, slim: true, areas: 0 });
      await browser.run(`document.querySelector('section details').open = true`);
      await look({ locale }, 'the report');
    }
  });

  it('look a campaign over before it is sent, on a phone and a desk, by day and by night', async () => {
    const asked: string[] = [];
    const pictures = createServer(({ url = '' }, answer) => {
      asked.push(url);
      answer.end();
    });
    pictures.listen(0, '127.0.0.1').unref();
    await once(pictures, 'listening');
    const { port } = pictures.address() as AddressInfo;
    const image = (name: string) => `url(http://127.0.0.1:${port}/${name})`;
    const html = `<html><head><style>h1{background-image:${image('light')}}
      @media (prefers-color-scheme:dark){h1{background-image:${image('dark')}}}</style></head><body><h1>Spring</h1></body></html>`;
    const translations = {
      ar: { subject: 'وصل الربيع', previewText: 'جديد' },
      ja: { subject: '春が来ました' },
    };
    const draft = { name: WORDS.de[1], subject: WORDS.de[1], previewText: 'New', html, translations };
    const key: string = (await client.post('/campaigns', draft)).at('campaignKey');
    const url: string = (await client.post(`/campaigns/${key}/preview-link`)).at('url');
    for (const locale of LOCALES) {
      await browser.look({ width: 375, scheme: 'dark' });
      asked.length = 0;
      await browser.open(url, locale);
      await eventually('the mail is shown as by day', () => asked.includes('/light'));
      expect(asked).not.toContain('/dark');
      await browser.press('.choices a[href$="scheme=dark"]');
      await browser.look({ width: 375, scheme: 'light' });
      await eventually('and by night', () => asked.includes('/dark'));
      await browser.press('.choices a[href*="width=700"]');
      await browser.run(`document.querySelector('main details').open = true`);
      await look({ locale }, 'the campaign');
    }
    pictures.close();
  });

  it.each([
    '/docs',
    '/docs/quickstart',
    '/docs/configuration',
    '/docs/guides/newsletter',
    '/docs/search?q=bounce',
    '/docs/reference',
    '/docs/reference/consents',
    '/problems/not-found',
    '/docs/nope',
  ])('read the documentation: %s', async (path) => {
    const loaded = path === '/docs/nope' ? 404 : 200;
    await browser.open(`${system.baseUrl}${path}`);
    expect((await fetch(`${system.baseUrl}${path}`)).status).toBe(loaded);
    await look({ locale: 'en' }, path);
  });

  it.each([
    [375, 1],
    [1_280, 0.45],
  ])('read what a setting does without scrolling sideways, %i px wide', async (width, share) => {
    await browser.open(`${system.baseUrl}/docs/configuration`);
    await browser.look({ width, scheme: 'light' });
    const [hidden, widest] = await browser.run<[number, number]>(`(() => {
      const table = document.querySelector('.wide');
      const description = document.querySelector('#DATABASE_READ_URL > td:last-child');
      return [table.scrollWidth - table.clientWidth, description.offsetWidth / table.clientWidth];
    })()`);
    expect(hidden).toBe(0);
    expect(widest).toBeGreaterThanOrEqual(share);
  });

  it('find something in the documentation while they type', async () => {
    await browser.open(`${system.baseUrl}/docs/quickstart`);
    await browser.run(`(() => {
      const field = document.querySelector('form.search input');
      field.focus();
      field.value = 'sugn up';
      field.dispatchEvent(new Event('input'));
    })()`);
    await eventually('there are findings', async () =>
      browser.run(`document.querySelector('.findings a') !== null`),
    );
    await look({ locale: 'en' }, 'findings');
  });

  it('read an invoice', async () => {
    const { tenant } = await names();
    await runCliForJson(system.variables, ['subscription:set', '--tenant', tenant, '--plan', 'standard']);
    const invoices = await (await project.client('LIVE')).get('/billing/invoices');
    for (const locale of LOCALES) await follow(locale, invoices.at('data', 0, 'invoiceUrl'), 'the invoice');
  });
  async function names() {
    const [found] = await system.database.query<{ tenant: string; key: string }>(
      `select t.tenant_key as tenant, p.project_key as key
       from access.projects p join access.tenants t on t.id = p.tenant_id where p.id = $1`,
      [project.test.projectId],
    );
    if (found === undefined) throw new Error('There is no project.');
    return found;
  }
});
