import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import type { ApiClient } from '#testing/http/api-client';
import { readCsv } from '#testing/fixtures/csv';
import { eventually } from '#testing/time/eventually';
import { runCli } from '#testing/programs/operator-cli';
import { type RunningProgram, startProgram } from '#testing/programs/program';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { type RunningSystem, startSystem, type SystemProject } from '#testing/programs/system';

const PEOPLE = 250;
const ROUNDS = 5;
/** Clicks of a round, at most one of each person: nobody follows three links in a second, as scanners do. */
const CLICKS = 200;
/** Clicks under way when the api is killed. */
const UNDER_WAY = 40;
const BROWSER = { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Gecko/20100101 Firefox/140.0' };

const linksOf = (locale: string) =>
  [
    'spring?utm_source=news&utm_medium=e%2Dmail&utm_campaign=Fr%C3%BChling+26',
    'a;b=1,2/?q=a%20b+c&empty=&utm_term=%E2%82%AC#top',
    'shop?UTM_Source=News&x=1&x=2',
  ].map((path) => `https://acme.example/${locale}/${path}`);
const contentJson = (locale: string) =>
  JSON.stringify({
    blocks: linksOf(locale).map((url, index) => ({ type: 'button', label: `Link ${index}`, url })),
  });

/** A person's mail: its language, null for the campaign's own content, and the paths of its links. */
interface Mail {
  readonly email: string;
  readonly locale: string | null;
  readonly paths: readonly string[];
}

/** Clicks by `locale url`: those that were answered a while before a kill count, the others may. */
class Told {
  readonly least = new Map<string, number>();
  readonly most = new Map<string, number>();

  add(key: string, isSure: boolean): void {
    this.most.set(key, (this.most.get(key) ?? 0) + 1);
    if (isSure) this.least.set(key, (this.least.get(key) ?? 0) + 1);
  }
}

describe('clicks while apis and workers are killed', () => {
  let system: RunningSystem;
  let project: SystemProject;
  let client: ApiClient;
  let clicked: RunningProgram;
  let campaignKey: string;
  let mails: readonly Mail[];
  const told = new Told();

  beforeAll(async () => {
    system = await startSystem();
    project = await system.project();
    client = await project.client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    await insertSubscribers(system.database, project.test, topic.at('id'), PEOPLE);
    await system.database.query(
      `update audience.subscribers set locale = case right(email_key, 13) when '1@example.com' then 'de' else 'ja' end
       where email_key ~ '[12]@example.com$'`,
    );
    const translated = (locale: string) => ({ subject: locale, contentJson: contentJson(locale) });
    const draft = {
      name: 'Spring',
      subject: 'Spring',
      contentJson: contentJson('en'),
      topicIds: [topic.at('id')],
      translations: { de: translated('de'), ja: translated('ja') },
    };
    campaignKey = (await client.post('/campaigns', draft)).at('campaignKey');
    expect((await client.post(`/campaigns/${campaignKey}/send`)).status).toBe(200);
    await eventually(
      'the campaign is sent',
      async () => (await client.get(`/campaigns/${campaignKey}`)).at('status') === 'SENT',
    );
    // A look at a mail in its first two seconds is taken for a scanner's.
    await system.advanceClock(5_000);
    await startClicked();
    mails = await readMails();
  });
  afterAll(async () => {
    await clicked?.stop();
    await system?.stop();
  });

  async function startClicked(): Promise<void> {
    clicked = await startProgram('api', system.variables);
    await clicked.readClock();
  }

  async function readMails(): Promise<Mail[]> {
    const rows = await system.database.query<{ email: string; locale: string | null; raw: Buffer }>(
      `select to_address as email, d.locale, raw from messaging.test_inbox_messages m
       join messaging.deliveries d on d.id = m.delivery_id where m.kind = 'CAMPAIGN' order by to_address`,
    );
    return Promise.all(
      rows.map(async ({ raw, ...mail }) => {
        const { html = '' } = await PostalMime.parse(raw);
        const paths = [...html.matchAll(/href="[^"]*?(\/l\/[^"]*)"/g)].map(([, path = '']) => path);
        expect(paths).toHaveLength(linksOf('en').length);
        return { ...mail, paths };
      }),
    );
  }

  /** Follows a random link of the mail; null where no answer came. */
  async function click({ paths, locale }: Mail): Promise<string | null> {
    const place = Math.floor(Math.random() * paths.length);
    const key = `${locale} ${linksOf(locale ?? 'en')[place]}`;
    const url = `http://127.0.0.1:${clicked.port}${paths[place]}`;
    const answer = await fetch(url, { redirect: 'manual', headers: BROWSER }).catch(() => null);
    told.add(key, false);
    if (answer === null) return null;
    expect([answer.status, `${locale} ${answer.headers.get('location')}`]).toEqual([302, key]);
    return key;
  }

  const count = async () => {
    const [row] = await system.database.query<{ n: number }>(
      `select count(*)::int as n from messaging.delivery_events where type = 'CLICKED' and classification = 'human'`,
    );
    return row!.n;
  };

  const sum = (rows: readonly Record<string, unknown>[], name: string) =>
    rows.reduce((total, row) => total + Number(row[name]), 0);

  /** Clicks of the campaign, by each of the ways in which they are told. */
  async function numbers(): Promise<Record<string, number>> {
    const statistics = await client.get(`/campaigns/${campaignKey}/report/statistics`);
    const links = await client.get(`/campaigns/${campaignKey}/report/links`);
    const over = async (by: string) =>
      (await client.get(`/statistics?by=${by}&interval=hour`)).at<number>('totals', 'clicked');
    return {
      statistics: statistics.at<number>('totalClicked'),
      links: sum(links.body as Record<string, unknown>[], 'clicks'),
      byCampaign: await over('campaign'),
      byTopic: await over('topic'),
      byProvider: await over('provider'),
      byRelay: await over('relay'),
      deliveries: sum(await allDeliveries(), 'clicks'),
      export: sum(await exported(), 'clicks'),
    };
  }

  async function allDeliveries(): Promise<Record<string, unknown>[]> {
    const rows: Record<string, unknown>[] = [];
    for (let page = 0; ; page += 1) {
      const list = await client.get(`/campaigns/${campaignKey}/deliveries?size=100&page=${page}`);
      rows.push(...list.at<Record<string, unknown>[]>('data'));
      if (!list.at('pagination', 'hasNext')) return rows;
    }
  }

  async function exported(): Promise<Record<string, string>[]> {
    const { id } = (await client.post('/exports', { what: 'DELIVERIES', format: 'CSV' })).body as {
      id: string;
    };
    const made = await eventually('the export is made', async () => {
      const found = await client.get(`/exports/${id}`);
      return found.at('status') === 'COMPLETED' ? found : null;
    });
    const [header = [], ...rows] = readCsv(await (await fetch(made.at('url'))).text());
    return rows.map((row) => Object.fromEntries(row.map((cell, index) => [header[index]!, cell])));
  }

  it('are the same in report, links, statistics, deliveries and export, and what their readers were told', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const readers = mails.toSorted(() => Math.random() - 0.5).slice(0, CLICKS);
      const before = await count();
      const answered: string[] = [];
      for (const mail of readers.slice(UNDER_WAY)) {
        const key = await click(mail);
        if (key !== null) answered.push(key);
      }
      expect(answered).toHaveLength(CLICKS - UNDER_WAY);
      await eventually(
        'what was answered is counted',
        async () => (await count()) === before + answered.length,
      );
      for (const key of answered) told.least.set(key, (told.least.get(key) ?? 0) + 1);
      const underWay = readers.slice(0, UNDER_WAY).map(click);
      await Promise.race(underWay);
      await clicked.kill();
      await Promise.all(underWay);
      await startClicked();
      if (round % 2 === 1) {
        await system.worker.kill();
        system.worker = await startProgram('worker', system.variables);
      }
    }
    const total = await count();
    const sure = [...told.least.values()].reduce((all, n) => all + n, 0);
    expect(sure).toBe(ROUNDS * (CLICKS - UNDER_WAY));
    expect(total).toBeGreaterThanOrEqual(sure);
    expect(total).toBeLessThanOrEqual(ROUNDS * CLICKS);

    const now = await numbers();
    expect(now).toEqual(Object.fromEntries(Object.keys(now).map((name) => [name, total])));
    const links = (await client.get(`/campaigns/${campaignKey}/report/links`)).body as {
      url: string;
      locale: string | null;
      clicks: number;
    }[];
    expect(links.map(({ url }) => url).toSorted()).toEqual(['en', 'de', 'ja'].flatMap(linksOf).toSorted());
    for (const { url, locale, clicks } of links) {
      const key = `${locale} ${url}`;
      expect(clicks).toBeGreaterThanOrEqual(told.least.get(key) ?? 0);
      expect(clicks).toBeLessThanOrEqual(told.most.get(key) ?? 0);
    }
    for (const command of ['check:statistics', 'check:automations']) {
      const { exitCode, stdout } = await runCli(system.variables, [command]);
      expect([command, exitCode, stdout]).toEqual([command, 0, expect.any(String)]);
    }
  });

  it('stay when people who clicked are erased, and no address of theirs is told', async () => {
    const before = await numbers();
    const erased = (await allDeliveries()).filter(({ clicks }) => Number(clicks) > 0).slice(0, 5);
    const addresses = erased.map(({ email }) => String(email));
    expect(new Set(addresses).size).toBe(5);
    for (const email of addresses)
      expect((await client.delete(`/subscribers/${encodeURIComponent(email)}`)).status).toBe(204);
    await eventually('the worker removed the addresses', async () => {
      const shown = JSON.stringify([await allDeliveries(), await exported()]);
      return addresses.every((address) => !shown.includes(address));
    });
    expect(await numbers()).toEqual(before);
    const { exitCode } = await runCli(system.variables, ['check:statistics']);
    expect(exitCode).toBe(0);
  });
});
