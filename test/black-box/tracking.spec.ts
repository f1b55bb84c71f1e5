import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCli } from '#testing/programs/operator-cli';
import { startProgram } from '#testing/programs/program';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const HUMAN = { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Gecko/20100101 Firefox/140.0' };
const TARGETS = ['one?utm_source=mail&utm_campaign=may', 'two', 'three'].map(
  (path) => `https://acme.example/${path}`,
);
const contentJson = JSON.stringify({
  blocks: TARGETS.map((url, index) => ({ type: 'button', label: `Link ${index}`, url })),
});

interface Mail {
  readonly html: string;
  readonly text: string;
  readonly view: string;
  readonly unsubscribe: string;
  /** Tracked links. */
  readonly links: readonly string[];
  readonly pixel: string;
}

describe('tracking', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
  });
  afterAll(async () => {
    await system?.stop();
  });

  /** A campaign to these people, sent; its key. */
  async function send(emails: readonly string[]): Promise<string> {
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    for (const email of emails) {
      const consent = { source: 'signup form' };
      const made = await client.post('/subscribers', { email, topicKeys: [topic.at('topicKey')], consent });
      expect(made.status).toBe(201);
    }
    const draft = { name: 'May', subject: 'May', contentJson, topicIds: [topic.at('id')] };
    const campaignKey = (await client.post('/campaigns', draft)).at('campaignKey');
    expect((await client.post(`/campaigns/${campaignKey}/send`)).status).toBe(200);
    await eventually(
      'the campaign is sent',
      async () => (await client.get(`/campaigns/${campaignKey}`)).at('status') === 'SENT',
    );
    return campaignKey;
  }

  async function mailTo(email: string): Promise<Mail> {
    const list = await client.get(`/test-inbox/messages?kind=CAMPAIGN&to=${encodeURIComponent(email)}`);
    const raw = await client.get(`/test-inbox/messages/${list.at('data', 0, 'id')}/raw`);
    const { html = '', text = '' } = await PostalMime.parse(raw.text);
    const links = [...html.matchAll(/href="([^"]*\/l\/[^"]*)"/g)].map(([, url = '']) => url);
    const pixel = /src="([^"]*\/o\/[^"]*)"/.exec(html)?.[1] ?? '';
    return { html, text, links, pixel, ...list.at<Pick<Mail, 'view' | 'unsubscribe'>>('data', 0, 'links') };
  }

  /** As if the mails had been sent earlier: what looks at a mail in its first two seconds is taken for a scanner. */
  const whenPeopleLook = () => sentEarlierBy('2 s');

  /** Their last state was written when they were sent. */
  async function sentEarlierBy(interval: string): Promise<void> {
    await system.database.query(
      `with earlier as materialized (
          select id, finished_at - $2::interval as sent_at from messaging.deliveries where environment_id = $1
        )
        update messaging.deliveries d set sent_at = earlier.sent_at from earlier
        where d.environment_id = $1 and d.id = earlier.id and d.sent_at is not null`,
      [project.test.environmentId, interval],
    );
  }

  const look = (url: string, init: RequestInit = {}) =>
    fetch(url, { redirect: 'manual', headers: HUMAN, ...init });

  const statisticsOf = async (campaignKey: string) =>
    (await client.get(`/campaigns/${campaignKey}/report/statistics`)).body as Record<string, unknown>;

  const numbers = (campaignKey: string, wanted: Record<string, unknown>) =>
    eventually(`the numbers are ${JSON.stringify(wanted)}`, async () => {
      const statistics = await statisticsOf(campaignKey);
      return Object.entries(wanted).every(([name, value]) => statistics[name] === value) ? statistics : null;
    });

  describe('of a mail', () => {
    let campaignKey: string;
    let mail: Mail;

    beforeAll(async () => {
      campaignKey = await send(['ada@example.com', 'grace@example.com']);
      mail = await mailTo('ada@example.com');
      await whenPeopleLook();
    });

    it('leads its links past us, but for those that concern the subscription', () => {
      expect(mail.links).toHaveLength(3);
      for (const link of mail.links) expect(link.length).toBeLessThanOrEqual(120);
      expect(mail.html).toContain(`href="${mail.unsubscribe}"`);
      expect(mail.text).toContain(TARGETS[0]);
    });

    it('counts an open, and shows the pixel to nobody’s cache', async () => {
      const pixel = await look(mail.pixel);
      expect([pixel.status, pixel.headers.get('content-type')]).toEqual([200, 'image/gif']);
      expect(pixel.headers.get('cache-control')).toBe('no-store');
      expect(Buffer.from(await pixel.arrayBuffer()).toString('base64')).toBe(
        'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
      );
      await numbers(campaignKey, {
        totalOpened: 1,
        uniqueOpens: 1,
        totalClicked: 0,
        openRate: 0.5,
        status: 'LIVE',
      });
    });

    it('leads to the very address that the author wrote, and counts the click', async () => {
      const answer = await look(mail.links[0]!);
      expect([answer.status, answer.headers.get('location')]).toEqual([302, TARGETS[0]]);
      expect([answer.headers.get('cache-control'), answer.headers.get('x-request-id')]).toEqual([
        'no-store',
        expect.any(String),
      ]);
      await numbers(campaignKey, {
        totalClicked: 1,
        uniqueClicks: 1,
        clickThroughRate: 0.5,
        uniqueOpens: 1,
        totalOpened: 2,
      });
      expect(await (await fetch(`${system.baseUrl}/metrics`)).text()).toMatch(
        /^mailwright_http_requests_total\{method="GET",route="\/l\/:token",status="302"\} [1-9]/m,
      );
    });

    it.each([
      ['sec-purpose', 'prefetch;anonymous-client-ip'],
      ['x-purpose', 'preview'],
    ])('answers a browser that fetches ahead (%s: %s), and counts it not', async (name, value) => {
      const scanned = async () => {
        const [row] = await system.database.query<{ n: number }>(
          `select count(*)::int as n from messaging.delivery_events where classification = 'scanner' and environment_id = $1`,
          [project.test.environmentId],
        );
        return row?.n ?? 0;
      };
      const before = await scanned();
      for (const url of [mail.links[1]!, mail.pixel]) {
        const { status } = await look(url, { headers: { ...HUMAN, [name]: value } });
        expect(status).toBe(url === mail.pixel ? 200 : 302);
      }
      await eventually('both are written down', async () => (await scanned()) === before + 2);
      expect(await statisticsOf(campaignKey)).toMatchObject({ totalOpened: 2, totalClicked: 1 });
    });

    it('is told by link, byte for byte, in sums that are the campaign’s', async () => {
      const { totalClicked } = await statisticsOf(campaignKey);
      const links = await client.get(`/campaigns/${campaignKey}/report/links`);
      expect(links.body).toEqual(
        TARGETS.map((url, index) => ({
          url,
          linkNumber: index + 1,
          locale: null,
          clicks: index === 0 ? totalClicked : 0,
          uniqueClicks: index === 0 ? 1 : 0,
        })),
      );
      const draft = await client.post('/campaigns', { name: 'Draft', subject: 'Draft' });
      expect((await client.get(`/campaigns/${draft.at('campaignKey')}/report/links`)).body).toEqual([]);
      expect((await client.get('/campaigns/NONE-999/report/links')).status).toBe(404);
    });

    it('is told over campaigns and time, the same by whatever they are told', async () => {
      const { totalSent, totalOpened, uniqueOpens, totalClicked, uniqueClicks } =
        await statisticsOf(campaignKey);
      const numbersOf = {
        sent: totalSent,
        opened: totalOpened,
        uniqueOpens,
        clicked: totalClicked,
        uniqueClicks,
      };
      for (const [by, key] of [
        ['campaign', campaignKey],
        ['topic', expect.stringMatching(/^[A-Z]+-\d+$/)],
        ['provider', 'other'],
        ['relay', null],
      ] as const) {
        const told = await client.get(`/statistics?by=${by}&interval=month`);
        expect(told.status).toBe(200);
        const rows = told.at<Record<string, unknown>[]>('rows');
        expect(rows.filter(({ sent }) => sent === totalSent)).toMatchObject([{ key, ...numbersOf }]);
        expect(told.at('totals')).toMatchObject(numbersOf);
      }
      expect((await client.get('/statistics?by=automation')).body).toMatchObject({
        rows: [],
        totals: { sent: 0 },
      });
      const day = new Date().toISOString().slice(0, 10);
      const today = await client.get(`/statistics?from=${day}&to=${day}&interval=hour`);
      expect([today.at('from'), today.at('totals', 'sent')]).toEqual([`${day}T00:00:00.000Z`, totalSent]);
      const live = await (await project.client('LIVE')).get('/statistics');
      expect([live.status, live.at('rows')]).toEqual([200, []]);
      for (const [query, status, fields] of [
        ['by=person&interval=minute&from=now&to=2026-13-01', 400, ['from', 'to', 'interval', 'by']],
        ['from=2026-03-02&to=2026-03-01', 422, ['to']],
        ['from=2026-03-01&to=2026-03-31T00:00:00%2B01:00&interval=hour&until=now', 400, ['until']],
        ['from=2026-01-01&to=2026-02-02&interval=hour', 422, ['to']],
        ['from=2026-01-01&to=2027-01-02', 422, ['to']],
      ] as const) {
        const refused = await client.get(`/statistics?${query}`);
        expect([query, refused.status, Object.keys(refused.at('errors'))]).toEqual([query, status, fields]);
      }
      const writer = await project.client('TEST', { scopes: ['campaigns:write'] });
      expect((await writer.get('/statistics')).status).toBe(403);
    });

    it('is told of each mail, by filters, and without addresses to those who may not see them', async () => {
      const path = `/campaigns/${campaignKey}/deliveries`;
      const wanted = async (query: string, by = client) => {
        const answer = await by.get(`${path}?${query}`);
        expect(answer.status).toBe(200);
        const rows = answer.at<Record<string, unknown>[]>('data');
        expect(answer.at('pagination', 'totalElements')).toBe(rows.length);
        return rows;
      };
      const followed = encodeURIComponent(TARGETS[0]!);
      for (const query of [
        'opened=true',
        'clicked=true',
        'link=1',
        `link=${followed}`,
        'email=ADA@example.com',
      ])
        expect([query, await wanted(query)]).toMatchObject([
          query,
          [
            {
              email: 'ada@example.com',
              openedAt: expect.any(String),
              clickedAt: expect.any(String),
              clicks: 1,
            },
          ],
        ]);
      const untouched = { email: 'grace@example.com', openedAt: null, clickedAt: null, clicks: 0 };
      for (const query of ['opened=false', 'clicked=false&bounced=false', 'email=grace@example.com'])
        expect([query, await wanted(query)]).toMatchObject([query, [untouched]]);
      for (const query of ['bounced=true', 'link=2', 'email=ad@example.com', 'opened=false&clicked=true'])
        expect([query, await wanted(query)]).toEqual([query, []]);
      for (const [query, status, field] of [
        ['opened=yes', 400, 'opened'],
        ['email=ada', 400, 'email'],
        ['link=4', 422, 'link'],
        ['clicks=1', 400, 'clicks'],
      ] as const) {
        const refused = await client.get(`${path}?${query}`);
        expect([query, refused.status, Object.keys(refused.at('errors'))]).toEqual([query, status, [field]]);
      }
      const reader = await project.client('TEST', { scopes: ['reports:read'] });
      expect((await wanted('link=1', reader)).map(({ email }) => email)).toEqual(['a…@example.com']);
      const csv = await reader.get(`/campaigns/${campaignKey}/report/export?rows=deliveries`);
      expect(csv.text).toContain(',a…@example.com,');
      expect(csv.text).not.toMatch(/ada@|grace@/);
    });

    it('answers HEAD, proxies and whoever follows all links at once, and counts none of them', async () => {
      const other = await mailTo('grace@example.com');
      const head = await look(other.links[0]!, { method: 'HEAD' });
      expect([head.status, head.headers.get('location')]).toEqual([302, TARGETS[0]]);
      const proxy = {
        'user-agent':
          'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
      };
      expect((await look(other.pixel, { headers: proxy })).status).toBe(200);
      const answers = await Promise.all(other.links.map((link) => look(link)));
      expect(answers.map((answer) => answer.headers.get('location'))).toEqual(TARGETS);
      await eventually('all are written down', async () => {
        const [row] = await system.database.query<{ n: number }>(
          `select count(*)::int as n from messaging.delivery_events where classification <> 'human' and environment_id = $1`,
          [project.test.environmentId],
        );
        return row?.n === 9;
      });
      expect(await statisticsOf(campaignKey)).toMatchObject({
        totalOpened: 2,
        uniqueOpens: 1,
        totalClicked: 1,
        uniqueClicks: 1,
      });
    });

    it.each(['l', 'o'])('answers a forged /%s/ with a page that is not found', async (path) => {
      const good = path === 'l' ? mail.links[0]! : mail.pixel;
      const token = good.split('/').at(-1) ?? '';
      for (const forged of ['x', 'A'.repeat(56), `B${token.slice(1)}`, `${token}A`, '..%2F..']) {
        const answer = await look(`${system.baseUrl}/${path}/${forged}`);
        expect([answer.status, answer.headers.get('location')]).toEqual([404, null]);
        expect(await answer.text()).toContain('This link doesn’t work');
      }
    });

    it('never leads to an address of the request', async () => {
      const answer = await look(`${mail.links[0]!}?url=https://evil.example`, { method: 'HEAD' });
      expect(answer.headers.get('location')).toBe(TARGETS[0]);
    });

    it('is the same in the browser', async () => {
      const page = await (await fetch(mail.view)).text();
      for (const link of mail.links) expect(page).toContain(new URL(link).pathname);
    });

    it('shows over time what the totals say', async () => {
      for (const interval of ['', '?interval=minute', '?interval=day']) {
        const timeline = await client.get(`/campaigns/${campaignKey}/report/timeline${interval}`);
        expect(timeline.status).toBe(200);
        const points = timeline.body as Record<'sent' | 'delivered' | 'opened' | 'clicked', number>[];
        const sum = (name: keyof (typeof points)[number]) =>
          points.reduce((total, point) => total + point[name], 0);
        expect([sum('sent'), sum('delivered'), sum('opened'), sum('clicked')]).toEqual([2, 2, 2, 1]);
      }
      const wrong = await client.get(`/campaigns/${campaignKey}/report/timeline?interval=week`);
      expect([wrong.status, Object.keys(wrong.at('errors'))]).toEqual([400, ['interval']]);
      const draft = await client.post('/campaigns', { name: 'Draft', subject: 'Draft' });
      expect((await client.get(`/campaigns/${draft.at('campaignKey')}/report/timeline`)).body).toEqual([]);
    });

    it('is a row of the export', async () => {
      const csv = await client.get(`/campaigns/${campaignKey}/report/export?rows=deliveries`);
      expect([csv.status, csv.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
      const [header = '', ...rows] = csv.text.split('\r\n').map((line) => line.split(','));
      const column = (name: string) => rows.slice(0, -1).map((row) => row[header.indexOf(name)]);
      expect(column('email')).toEqual(['ada@example.com', 'grace@example.com']);
      expect([column('status'), column('opens'), column('clicks')]).toEqual([
        ['SENT', 'SENT'],
        ['2', '0'],
        ['1', '0'],
      ]);
    });
  });

  describe('of the simulated mailboxes', () => {
    it('does what each of them would do', async () => {
      const people = [
        'delivered',
        'Bounced',
        'soft-bounced',
        'complained',
        'opened',
        'clicked',
        'unsubscribed',
      ];
      const campaignKey = await send(people.map((name) => `${name}+tag@example.org`));
      await numbers(campaignKey, {
        totalSent: 7,
        totalDelivered: 5,
        totalBounced: 2,
        hardBounced: 1,
        softBounced: 1,
        spamComplaints: 1,
        totalOpened: 2,
        uniqueOpens: 2,
        totalClicked: 1,
        uniqueClicks: 1,
        totalUnsubscribed: 1,
        clickToOpenRate: 0.5,
      });
      const reasonOf = async (name: string) =>
        (await client.get(`/suppressions/${name}%2Btag%40example.org`)).at('reason');
      expect(await Promise.all(['bounced', 'complained', 'soft-bounced'].map(reasonOf))).toEqual([
        'HARD_BOUNCE',
        'SPAM_COMPLAINT',
        null,
      ]);
      const consents = await client.get('/subscribers/unsubscribed%2Btag%40example.org/consents');
      expect(consents.at('consents', 0, 'status')).toBe('UNSUBSCRIBED');
      const [left] = await system.database.query(
        `select count(*)::int as n from messaging.mailbox_simulations where environment_id = $1`,
        [project.test.environmentId],
      );
      expect(left).toEqual({ n: 0 });
    });
  });

  it('has counters that are what the rows say', async () => {
    await sentEarlierBy('0 s');
    const campaigns = await client.get('/campaigns');
    const { stdout, stderr } = await runCli(system.variables, ['check:statistics']);
    // Counters of other projects may differ: their tests change rows by hand.
    expect(stdout + stderr).toMatch(/All counters are correct|Counters differ/);
    for (const { id } of campaigns.at<{ id: string }[]>('data')) expect(stderr).not.toContain(id);
  });

  it('writes what it still holds when it is told to stop', async () => {
    const campaignKey = await send(['last@example.net']);
    const mail = await mailTo('last@example.net');
    await whenPeopleLook();
    const api = await startProgram('api', system.variables);
    await look(mail.links[1]!.replace(system.baseUrl, `http://127.0.0.1:${api.port}`));
    expect(await api.stop()).toBe(0);
    const [row] = await system.database.query<{ n: number }>(
      `select sum(k.unique_clicks)::int as n from messaging.campaign_counters k
       join messaging.campaigns c on c.id = k.campaign_id and c.environment_id = k.environment_id
       where c.campaign_key = $1 and c.environment_id = $2`,
      [campaignKey, project.test.environmentId],
    );
    expect(row?.n).toBe(1);
  });
});
