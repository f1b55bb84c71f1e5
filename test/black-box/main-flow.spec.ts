import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { QUEUES, type SharedSystem, sharedSystem } from '#testing/programs/system';

const contentJson = JSON.stringify({
  blocks: [
    { type: 'heading', level: 1, text: 'News' },
    { type: 'text', html: '<p>Hello {{ subscriber.first_name | default: "there" }}!</p>' },
    { type: 'button', label: 'Read more', url: 'https://acme.example/news' },
  ],
});

describe.each(QUEUES)('the main flow with the queue on %s', (backend) => {
  let system: SharedSystem;
  let client: ApiClient;
  const topics = { confirmed: '', simple: '' };
  const topicIds: Record<string, string> = {};

  beforeAll(async () => {
    system = await sharedSystem(backend);
    client = await (await system.project()).client('TEST');
    topics.confirmed = await makeTopic('Product news', true);
    topics.simple = await makeTopic('Release notes', false);
  });

  afterAll(() => system?.stop());

  async function makeTopic(name: string, doubleOptInEnabled: boolean): Promise<string> {
    const created = await client.post('/topics', { name, doubleOptInEnabled });
    expect(created.status).toBe(201);
    topicIds[name] = created.at('id');
    return created.at('topicKey');
  }

  const subscribe = (email: string, topicKeys: string[], firstName?: string) =>
    client.post('/subscribers', {
      email,
      topicKeys,
      firstName,
      consent: { source: 'signup form', ipAddress: '203.0.113.7' },
    });

  const messageTo = (email: string, kind: string, after = 0) =>
    eventually(`a ${kind} mail to ${email}`, async () => {
      const inbox = await client.get(`/test-inbox/messages?kind=${kind}&to=${encodeURIComponent(email)}`);
      return inbox.at<unknown[]>('data').length > after ? inbox : null;
    });

  const sendCampaign = async (name: string, topic: string): Promise<string> => {
    const created = await client.post('/campaigns', {
      name,
      subject: `${name} for {{ subscriber.first_name | default: "you" }}`,
      contentJson,
      topicIds: [topicIds[topic]],
    });
    expect(created.status).toBe(201);
    const key = created.at('campaignKey');
    const queued = await client.post(`/campaigns/${key}/send`);
    expect([queued.status, queued.at('status')]).toEqual([200, 'QUEUED_FOR_SENDING']);
    await eventually(
      `${name} is sent`,
      async () => (await client.get(`/campaigns/${key}`)).at('status') === 'SENT',
    );
    return key;
  };

  it('asks a double opt-in subscriber by mail and believes only the button', async () => {
    const created = await subscribe('Ada@Example.com', [topics.confirmed], 'Ada');
    expect([created.status, created.at('status')]).toEqual([201, 'PENDING_CONFIRMATION']);
    const inbox = await messageTo('ada@example.com', 'OPT_IN');
    const confirm = inbox.at('data', 0, 'links', 'confirm');
    expect((await fetch(confirm)).status).toBe(200);
    const still = await client.get('/subscribers/ada%40example.com/consents');
    expect(still.at('consents', 0, 'status')).toBe('PENDING_CONFIRMATION');
    expect((await fetch(confirm, { method: 'POST' })).status).toBe(200);
    const now = await client.get('/subscribers/ada%40example.com/consents');
    expect(now.at('consents', 0, 'status')).toBe('SUBSCRIBED');
    expect(now.at('consents', 0, 'confirmedAt')).toMatch(/Z$/);
  });

  it('sends a campaign to everybody who confirmed and to nobody else', async () => {
    await subscribe('pending@example.com', [topics.confirmed]);
    const key = await sendCampaign('Autumn', 'Product news');
    const inbox = await client.get('/test-inbox/messages?kind=CAMPAIGN');
    expect(inbox.at<{ to: string }[]>('data').map(({ to }) => to)).toEqual(['Ada@Example.com']);
    const opened = await client.get(`/test-inbox/messages/${inbox.at('data', 0, 'id')}`);
    expect(opened.at('subject')).toBe('Autumn for Ada');
    expect(opened.at('html')).toContain('Hello Ada!');
    expect(opened.at('text')).toContain('Hello Ada!');
    const [byWeb, byMail] = opened.at('headers', 'List-Unsubscribe').split(', ');
    expect(byWeb).toBe(`<${opened.at('links', 'unsubscribe')}>`);
    expect(byMail).toMatch(/^<mailto:u\+[a-z2-7]{36}\.[a-z2-7]{21}@bounces\.sender\.example>$/);
    expect(opened.at('headers', 'List-Unsubscribe-Post')).toBe('List-Unsubscribe=One-Click');
    const raw = await client.get(`/test-inbox/messages/${inbox.at('data', 0, 'id')}/raw`);
    expect((await PostalMime.parse(raw.text)).subject).toBe('Autumn for Ada');
    await expectNumbers(key, { totalSent: 1, totalDelivered: 1, deliveryRate: 1 });
  });

  it('exports the numbers as CSV, made by the worker', async () => {
    const [first] = (await client.get('/campaigns')).at<{ campaignKey: string }[]>('data');
    const csv = await client.get(`/campaigns/${first?.campaignKey}/report/export`);
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(csv.headers.get('content-disposition')).toBe(
      `attachment; filename="${first?.campaignKey}-report.csv"`,
    );
    const [header, row, end] = csv.text.split('\r\n');
    expect(header).toMatch(/^campaignKey,name,status,totalSent,totalDelivered,/);
    expect(row).toMatch(new RegExp(`^${first?.campaignKey},Autumn,SENT,1,1,`));
    expect(end).toBe('');
  });

  it('leaves out whoever unsubscribed with one click', async () => {
    await subscribe('grace@example.com', [topics.simple], 'Grace');
    await subscribe('alan@example.com', [topics.simple]);
    const key = await sendCampaign('First', 'Release notes');
    const received = await messageTo('grace@example.com', 'CAMPAIGN');
    const oneClick = await fetch(received.at('data', 0, 'links', 'unsubscribe'), {
      method: 'POST',
      body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
      redirect: 'manual',
    });
    expect([oneClick.status, oneClick.headers.get('set-cookie')]).toEqual([200, null]);
    const consents = await client.get('/subscribers/grace%40example.com/consents');
    expect(consents.at('consents', 0, 'status')).toBe('UNSUBSCRIBED');
    await expectNumbers(key, { totalSent: 2, totalUnsubscribed: 1, unsubscribeRate: 0.5 });
    const second = await sendCampaign('Second', 'Release notes');
    await expectNumbers(second, { totalSent: 1 });
    const inbox: ApiAnswer = await client.get('/test-inbox/messages?kind=CAMPAIGN&to=grace%40example.com');
    expect(inbox.at('pagination', 'totalElements')).toBe(1);
  });

  it('shows the mail in the browser, as its reader got it', async () => {
    const inbox = await client.get('/test-inbox/messages?kind=CAMPAIGN&to=alan%40example.com');
    const page = await fetch(inbox.at('data', 0, 'links', 'view'));
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('Hello there!');
  });

  async function expectNumbers(campaignKey: string, numbers: Record<string, number>): Promise<void> {
    const statistics = await client.get(`/campaigns/${campaignKey}/report/statistics`);
    expect(statistics.body).toMatchObject(numbers);
  }
});
