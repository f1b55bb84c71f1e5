import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const PERSON = { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Gecko/20100101 Firefox/140.0' };
const BOTH = { opens: true, clicks: true };
const RECEIPT = {
  purpose: 'An order',
  subject: 'Receipt {{ data.order.id }}',
  html:
    '<html><body><p>Thank you.</p><a href="https://shop.example/orders/{{ data.order.id }}?a=1&amp;b=2">Your order</a>' +
    '{% for item in data.items %}<a href="https://shop.example/{{ item }}">Item</a>{% endfor %}' +
    '<a href="https://shop.example/">https://shop.example/</a><p>{{ data.note }}</p></body></html>',
  text: 'https://shop.example/orders/{{ data.order.id }}',
  data: { order: { id: '4711' }, items: ['lamp', 'chair'], note: '{{ subscriber.email }} </body> İ' },
};
const TARGETS = [
  'https://shop.example/orders/4711?a=1&b=2',
  'https://shop.example/lamp',
  'https://shop.example/chair',
];

describe('tracking of messages', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let count = 0;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
  });
  afterAll(async () => {
    await system?.stop();
  });

  const somebody = () => `reader${(count += 1)}@example.com`;
  async function send(message: object): Promise<string> {
    const sent = await client.post('/messages', { ...RECEIPT, track: BOTH, ...message });
    expect(sent.status).toBe(202);
    return sent.at('id');
  }
  async function mailTo(email: string) {
    const id = await eventually(`a mail to ${email}`, async () => {
      const list = await client.get(`/test-inbox/messages?kind=MESSAGE&to=${encodeURIComponent(email)}`);
      return list.at<string | undefined>('data', 0, 'id') ?? null;
    });
    const raw = await client.get(`/test-inbox/messages/${id}/raw`);
    const { html = '', text = '' } = await PostalMime.parse(raw.text);
    const links = [...html.matchAll(/href="([^"]*\/l\/[^"]*)"/g)].map(([, url = '']) => url);
    return { html, text, links, pixel: /src="([^"]*\/o\/[^"]*)"/.exec(html)?.[1] ?? null };
  }
  /** As if the message had been sent so long ago: what looks at it in its first two seconds is taken for a scanner. */
  async function sentBefore(id: string, seconds: number): Promise<void> {
    await eventually(`${id} is sent`, async () => (await client.get(`/messages/${id}`)).at('sentAt'));
    await system.database.query(
      'update messaging.messages set sent_at = now() - make_interval(secs => $2) where id = $1',
      [id, seconds],
    );
  }
  const whenPeopleLook = (id: string) => sentBefore(id, 3);
  const look = (url: string, headers: Record<string, string> = PERSON) =>
    fetch(url, { redirect: 'manual', headers });
  const looksOf = async (id: string) =>
    (await client.get(`/messages/${id}/events`))
      .at<{ type: string; url: string | null; agent: string | null }[]>('data')
      .filter(({ type }) => type === 'OPENED' || type === 'CLICKED');
  const looks = (id: string, number: number) =>
    eventually(`${number} looks`, async () => {
      const found = await looksOf(id);
      return found.length === number ? found : null;
    });

  /** The classes of so many opens and clicks, of programs too. */
  const recorded = (id: string, number: number) =>
    eventually(`${number} opens and clicks are recorded`, async () => {
      const rows = await system.database.query<{ classification: string }>(
        `select classification from messaging.message_events where message_id = $1 and agent is not null`,
        [id],
      );
      return rows.length === number ? rows.map(({ classification }) => classification).toSorted() : null;
    });

  it('leads their links past us, filled in, and puts the pixel at the end of the mail to `to` alone', async () => {
    const [to, cc] = [somebody(), somebody()];
    const id = await send({ to, cc: [cc] });
    expect((await client.get(`/messages/${id}`)).at('track')).toEqual(BOTH);
    const mail = await mailTo(to);
    const led = await Promise.all(mail.links.map(async (link) => (await look(link)).headers.get('location')));
    expect(led).toEqual(TARGETS);
    expect(mail.html).toMatch(/<img src="[^"]*\/o\/[^"]*"[^>]*>\s*<\/body>\s*<\/html>\s*$/);
    expect(mail.html).toContain('href="https://shop.example/"');
    expect(mail.html).not.toContain(`${to} &lt;/body`);
    expect(mail.text).toContain('https://shop.example/orders/4711');
    const copy = await mailTo(cc);
    expect([copy.links, copy.pixel]).toEqual([[], null]);
    expect(copy.html).toContain('https://shop.example/lamp');
    const shown = await client.get(`/messages/${id}/content`);
    expect(shown.at('html')).toContain('https://shop.example/lamp');
    expect(shown.at('html')).not.toContain('/o/');
  });

  it('is off unless asked for, and does what is asked for alone', async () => {
    const [none, opens, clicks] = [somebody(), somebody(), somebody()];
    const id = await send({ to: none, track: null });
    expect((await client.get(`/messages/${id}`)).at('track')).toEqual({ opens: false, clicks: false });
    await send({ to: opens, track: { opens: true } });
    await send({ to: clicks, track: { clicks: true } });
    const [plain, opened, clicked] = [await mailTo(none), await mailTo(opens), await mailTo(clicks)];
    expect([plain.links.length, plain.pixel]).toEqual([0, null]);
    expect([opened.links.length, opened.pixel]).toEqual([0, expect.any(String)]);
    expect([clicked.links.length, clicked.pixel]).toEqual([3, null]);
  });

  it('records opens and clicks of people, and tells scanners and proxies apart', async () => {
    const [to, tag] = [somebody(), 'tracked'];
    const id = await send({ to, tags: [tag] });
    const mail = await mailTo(to);
    await sentBefore(id, 0);
    await look(mail.links[0]!);
    await recorded(id, 1);
    await whenPeopleLook(id);
    await look(mail.pixel!, { 'user-agent': 'Mozilla/5.0 (via ggpht.com GoogleImageProxy)' });
    await look(mail.links[0]!, { 'user-agent': 'Mozilla/5.0 (compatible; Proofpoint URL Defense)' });
    await look(mail.pixel!);
    await look(mail.links[0]!);
    const told = await looks(id, 2);
    const [opened, clicked] = [
      told.find(({ type }) => type === 'OPENED'),
      told.find(({ type }) => type === 'CLICKED'),
    ];
    expect(opened).toMatchObject({ url: null, agent: 'desktop' });
    expect(clicked).toMatchObject({ url: TARGETS[0], agent: 'desktop' });
    expect(await recorded(id, 5)).toEqual(['human', 'human', 'proxy', 'scanner', 'scanner']);
    const counted = (await client.get('/statistics?by=tag')).at<{ key: string | null }[]>('rows');
    expect(counted.find(({ key }) => key === tag)).toMatchObject({
      sent: 1,
      opened: 2,
      uniqueOpens: 1,
      clicked: 1,
      uniqueClicks: 1,
    });
  });

  it('takes three links followed within a second for a scanner’s, also those recorded before', async () => {
    const to = somebody();
    const id = await send({ to });
    const mail = await mailTo(to);
    await whenPeopleLook(id);
    const [first = '', ...others] = mail.links;
    await look(first);
    await looks(id, 1);
    // As if it had been followed just now.
    await system.database.query(
      `update messaging.message_events set occurred_at = date_trunc('milliseconds', now()) where message_id = $1 and url is not null`,
      [id],
    );
    await Promise.all(others.map((link) => look(link)));
    await recorded(id, 3);
    expect(await looksOf(id)).toEqual([]);
  });

  it('lets a notification’s reader leave by links that are not tracked', async () => {
    const topic = await client.post('/topics', { name: 'Comments', doubleOptInEnabled: false });
    const [to, topicKey] = [somebody(), topic.at('topicKey')];
    const consent = { source: 'settings' };
    await client.post('/subscribers', { email: to, topicKeys: [topicKey], consent });
    const html =
      '<html><body><a href="https://shop.example/c/{{ data.order.id }}">Answer</a> <a href="{{ links.unsubscribe }}">Leave</a></body></html>';
    const id = await send({ to, topicKey, html });
    const mail = await mailTo(to);
    expect(mail.links).toHaveLength(1);
    expect(mail.html).toMatch(/href="[^"]*\/u\/[^"]*">Leave/);
    await whenPeopleLook(id);
    await look(mail.links[0]!);
    await looks(id, 1);
    const activity = await client.get(`/subscribers/${to}/activity?type=email.clicked`);
    expect(activity.at('data', 0, 'data')).toMatchObject({
      kind: 'MESSAGE',
      url: 'https://shop.example/c/4711',
    });
  });

  it('is simulated by mailboxes of test keys', async () => {
    const clicked = await send({ to: 'clicked+m@example.com', cc: ['opened+copy@example.com'] });
    const seen = await send({ to: 'opened+m@example.com' });
    const silent = await send({ to: 'opened+silent@example.com', track: { clicks: true } });
    const linkless = await send({ to: 'clicked+linkless@example.com', html: '<p>Thank you.</p>' });
    expect(await looks(clicked, 1)).toMatchObject([{ type: 'CLICKED', url: TARGETS[0], agent: 'simulator' }]);
    expect(await looks(seen, 1)).toMatchObject([{ type: 'OPENED', url: null, agent: 'simulator' }]);
    expect(await looks(linkless, 1)).toMatchObject([{ type: 'OPENED', url: null, agent: 'simulator' }]);
    await eventually('no mailbox has anything left to do', async () => {
      const [row] = await system.database.query<{ rows: number }>(
        `select count(*)::int as rows from messaging.mailbox_simulations where environment_id = $1`,
        [project.test.environmentId],
      );
      return row!.rows === 0;
    });
    expect(await looksOf(silent)).toEqual([]);
  });

  it('is refused where nothing could be tracked, or its links would be kept', async () => {
    const textAlone = await client.post('/messages', { ...RECEIPT, to: somebody(), html: null, track: BOTH });
    expect([textAlone.status, Object.keys(textAlone.at('errors'))]).toEqual([
      422,
      ['track.opens', 'track.clicks'],
    ]);
    const nothing = { ...RECEIPT, to: somebody(), keep: 'NOTHING', track: BOTH };
    const refused = await client.post('/messages/batch', { messages: [nothing], mode: 'ALL' });
    expect([refused.status, Object.keys(refused.at('errors'))]).toEqual([422, ['messages[0].track.clicks']]);
    expect((await client.post('/messages', { ...nothing, track: { opens: true } })).status).toBe(202);
  });

  it('leaves no address behind when its reader is erased', async () => {
    const to = somebody();
    const topic = await client.post('/topics', { name: 'Erased', doubleOptInEnabled: false });
    await client.post('/subscribers', {
      email: to,
      topicKeys: [topic.at('topicKey')],
      consent: { source: 'f' },
    });
    const id = await send({ to });
    const mail = await mailTo(to);
    await whenPeopleLook(id);
    await look(mail.links[0]!);
    await looks(id, 1);
    expect((await client.delete(`/subscribers/${to}`)).status).toBe(204);
    const urls = () =>
      system.database.query(
        `select url from messaging.message_events where message_id = $1 and url is not null
         union all select unnest(urls) from messaging.link_sets where message_id = $1`,
        [id],
      );
    await eventually('nothing is left', async () => (await urls()).length === 0);
    await look(mail.links[1]!);
    await look(mail.pixel!);
    const other = somebody();
    const later = await send({ to: other });
    await whenPeopleLook(later);
    await look((await mailTo(other)).pixel!);
    await looks(later, 1);
    expect(await urls()).toEqual([]);
  });
});
