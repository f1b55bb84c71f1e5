import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime, { type Email } from 'postal-mime';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type SharedSystem, sharedSystem } from '#testing/programs/system';

interface Received {
  readonly mail: Email;
  readonly links: Readonly<Record<string, string>>;
}

const TAG = '<script>alert(1)</script>';
const MERGE = '{{ subscriber.email }}{% if true %}';
/** As an ICU message: its braces and tags are quoted. */
const HOSTILE = `'${TAG}${MERGE}'`;

describe('what a project says in its own words', () => {
  let system: SharedSystem;
  let client: ApiClient;
  let people = 0;

  beforeAll(async () => {
    system = await sharedSystem();
  });
  afterAll(() => system?.stop());

  async function fresh(settings: object): Promise<void> {
    client = await (await system.project()).client('TEST');
    expect((await client.patch('/project', settings)).status).toBe(200);
  }
  const say = async (texts: Readonly<Record<string, string>>) =>
    expect((await client.request('PUT', '/project/texts/en', { body: { texts } })).status).toBe(200);

  async function received(kind: string, email: string): Promise<Received> {
    const inbox = await eventually(`the mail to ${email}`, async () => {
      const answer = await client.get(`/test-inbox/messages?kind=${kind}&to=${encodeURIComponent(email)}`);
      return answer.at<unknown[]>('data').length > 0 && answer;
    });
    const raw = (await client.get(`/test-inbox/messages/${inbox.at('data', 0, 'id')}/raw`)).text;
    return { mail: await PostalMime.parse(raw), links: inbox.at('data', 0, 'links') };
  }

  async function subscribed(doubleOptInEnabled: boolean, locale = 'en') {
    const email = `worded-${(people += 1)}@example.com`;
    const topic = await client.post('/topics', { name: `News ${people}`, doubleOptInEnabled });
    const topicKeys = [topic.at('topicKey')];
    await client.post('/subscribers', { email, topicKeys, locale, consent: { source: 'form' } });
    return { email, topicId: topic.at('id') };
  }
  const optIn = async (locale?: string) => received('OPT_IN', (await subscribed(true, locale)).email);

  async function campaign(content: object, locale?: string): Promise<Received> {
    const { email, topicId } = await subscribed(false, locale);
    const draft = { name: 'May', subject: 'May', topicIds: [topicId], ...content };
    const { campaignKey } = (await client.post('/campaigns', draft)).body as { campaignKey: string };
    expect((await client.post(`/campaigns/${campaignKey}/send`)).status).toBe(200);
    return received('CAMPAIGN', email);
  }
  const page = async (link: string | undefined) => {
    const answer = await fetch(new URL(new URL(link ?? '').pathname, system.baseUrl));
    return { headers: answer.headers, html: await answer.text() };
  };

  it('asks for answers to opt-in mails where the project says, and nowhere else without that', async () => {
    await fresh({ replyTo: 'Team@Bücher.example' });
    expect((await optIn()).mail.replyTo).toEqual([{ name: '', address: 'Team@xn--bcher-kva.example' }]);
    await fresh({ replyTo: null });
    expect((await optIn()).mail.replyTo).toBeUndefined();
  });

  it('is no markup and no merge tag in opt-in mails and on pages, nor is its name', async () => {
    await fresh({ name: TAG + MERGE, senderName: TAG + MERGE, postalAddress: TAG + MERGE });
    const project = `{project}${HOSTILE}`;
    await say({
      'optIn.subject': project,
      'optIn.asked': project,
      'optIn.button': HOSTILE,
      'optIn.link': `${HOSTILE}{url}`,
      'confirm.asked': `{sender}{email}${HOSTILE}`,
      'confirm.button': HOSTILE,
      'confirm.heading': HOSTILE,
      'page.language': HOSTILE,
    });
    const { mail, links } = await optIn();
    const shown = await page(links['confirm']);
    for (const html of [mail.html ?? '', shown.html]) {
      expect(html).not.toMatch(/<script/i);
      expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
      expect(html).not.toMatch(/worded-\d+@/);
    }
    for (const text of [mail.subject, mail.text]) expect(text).toContain(TAG + MERGE);
    expect(mail.headers.filter(({ key }) => key === 'from')).toHaveLength(1);
  });

  it('is no markup and no merge tag in the footers of campaigns, nor is its name', async () => {
    await fresh({ name: 'Acme', senderName: TAG + MERGE, postalAddress: `${TAG}\n${MERGE}` });
    const names = ['unsubscribe', 'preferences', 'view'];
    const texts = names.flatMap((name) => [
      [`footer.${name}`, HOSTILE],
      [`footer.${name}Link`, `${HOSTILE}'{'{url}'}'`],
    ]);
    await say(Object.fromEntries(texts));
    const contentJson = JSON.stringify({ blocks: [{ type: 'text', html: 'News.' }] });
    const { mail, links } = await campaign({ contentJson, contentText: 'News.' });
    const shown = await page(links['view']);
    for (const html of [mail.html ?? '', shown.html]) {
      expect(html).not.toMatch(/<script/i);
      expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
      expect(html).not.toMatch(/worded-\d+@/);
    }
    expect(mail.text).toContain(TAG);
    expect(mail.text).not.toMatch(/worded-\d+@/);
    for (const name of names) expect(mail.text).toContain(links[name]);
  });

  it('is refused as an ICU message with tags or braces of its own', async () => {
    await fresh({});
    for (const text of [TAG, '{{ subscriber.email }}', '{% if true %}', '{project']) {
      const answer = await client.request('PUT', '/project/texts/en', {
        body: { texts: { 'confirm.button': text } },
      });
      expect([answer.status, Object.keys(answer.at('errors'))]).toEqual([422, ['texts.confirm.button']]);
    }
  });

  it('shows a mail on the web in the mail’s language and direction', async () => {
    await fresh({ defaultLocale: 'de' });
    const contentJson = JSON.stringify({ blocks: [{ type: 'text', html: 'أخبار هذا الشهر' }] });
    const content = { contentText: 'Neues.', translations: { ar: { subject: 'أخبار', contentJson } } };
    const shownTo = async (locale: string) => page((await campaign(content, locale)).links['view']);
    const [arabic, german] = [await shownTo('ar-EG'), await shownTo('fr')];
    expect(arabic.headers.get('content-language')).toBe('ar');
    expect(arabic.html).toMatch(/<html [^>]*lang="ar"[^>]* dir="rtl"/);
    expect(german.headers.get('content-language')).toBe('de');
    expect(german.html).toMatch(/<html [^>]*lang="de"[^>]* dir="ltr"/);
  });
});
