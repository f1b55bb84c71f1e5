import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ReturnPaths } from '../../libs/deliverability/src/bounces/return-path.js';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { TRACED_PROGRAM } from '#testing/programs/program';
import { allowLiveMail } from '#testing/fixtures/sending-domain';
import { SmtpClient } from '#testing/mail/smtp-client';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { type RunningSystem, SECRETS, startSystem, type SystemProject } from '#testing/programs/system';

const PAGE = join(projectRoot(), 'docs/internals/journeys.md');
const page = readFileSync(PAGE, 'utf8');
const UPDATES = process.env['UPDATE_JOURNEYS'] !== undefined;

/** Files to read by heading; `[sending](#sending)` stands for that section's files. */
const sections = new Map(
  page.split(/^## /m).map((section) => [section.split('\n', 1)[0] ?? '', section] as const),
);
function filesToRead(heading: string): string[] {
  const items = [...(sections.get(heading) ?? '').matchAll(/^\d+\. (?:`(.+?)`|\[sending\])/gm)];
  return items.flatMap(([, file]) => (file === undefined ? filesToRead('Sending') : [file]));
}

/** Two traces of one journey have this many files more or fewer at most: what runs now and then, such as a second claim. */
const NOISE = 4;
const READER = { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Gecko/20100101 Firefox/140.0' };
/** Longer than any periodic task waits. */
const DAY_MS = 24 * 3_600_000;
/** So many traces in a row with nothing new: the programs are idle. */
const QUIET = 30;
const isOfBusiness = (file: string) => !/^libs\/(kernel|platform)\//.test(file);
const text = (words: string) => JSON.stringify({ blocks: [{ type: 'text', html: `<p>${words}</p>` }] });

describe('the page of journeys', () => {
  let system: RunningSystem;
  let relay: Awaited<ReturnType<typeof startSmtpSink>>;
  let project: SystemProject;
  let client: ApiClient;
  let idle: ReadonlySet<string>;

  beforeAll(async () => {
    relay = await startSmtpSink();
    system = await startSystem({ SMTP_URL: relay.url, BOUNCE_PORT: '0', NODE_OPTIONS: TRACED_PROGRAM });
    project = await system.project();
    await allowLiveMail(system.database, project.live, 'acme.example');
    client = await project.client('LIVE');
    // Once through, for what runs the first time only.
    for (const journey of Object.values(journeys)) await journey('zero');
    await ran();
    // All that time alone starts, starts now: the longer a run takes, the more of it would come in between.
    await system.advanceClock(DAY_MS);
    const seen = new Set<string>();
    let quiet = 0;
    await eventually('nothing runs that did not before', async () => {
      const known = seen.size;
      for (const file of await ran()) seen.add(file);
      quiet = seen.size === known ? quiet + 1 : 0;
      return quiet === QUIET;
    });
    idle = seen;
  });
  afterAll(async () => {
    await system?.stop();
    await relay?.stop();
  });

  const ran = async () => {
    const traces = await Promise.all([system.api.trace(), system.worker.trace()]);
    return new Set(traces.flatMap((files) => [...files]));
  };

  const topicOf = async (doubleOptInEnabled: boolean) =>
    (await client.post('/topics', { name: 'News', doubleOptInEnabled })).body as {
      id: string;
      topicKey: string;
    };
  const consent = { source: 'signup form' };
  const subscribe = async (email: string, topicKey: string) =>
    expect((await client.post('/subscribers', { email, topicKeys: [topicKey], consent })).status).toBe(201);
  const mailTo = (email: string) =>
    eventually(`a mail to ${email}`, () => relay.messages.find(({ to }) => to[0] === email)?.raw.toString());
  const linkOf = (mail: string, path: string) =>
    new RegExp(`${system.baseUrl}/${path}/[\\w~.-]+`).exec(
      mail.replaceAll('=\r\n', '').replaceAll('=3D', '='),
    )?.[0] ?? '';
  const sent = async (key: string) =>
    eventually(
      'the campaign is sent',
      async () => (await client.get(`/campaigns/${key}`)).at('status') === 'SENT',
    );

  async function campaign(email: string): Promise<string> {
    const topic = await topicOf(false);
    await subscribe(email, topic.topicKey);
    return draft(topic.id);
  }
  async function draft(topicId: string): Promise<string> {
    const contentJson = text('Hello <a href="https://acme.example/news">there</a>');
    const created = await client.post('/campaigns', {
      name: 'May',
      subject: 'May',
      contentJson,
      topicIds: [topicId],
    });
    return created.at('campaignKey');
  }

  /** Each prepares what it needs, forgets what ran until then, and goes its way once. */
  const journeys: Readonly<Record<string, (name: string) => Promise<void>>> = {
    'Sign-up': async (name) => {
      const { topicKey } = await topicOf(true);
      await ran();
      await subscribe(`${name}@sign-up.example`, topicKey);
      const link = linkOf(await mailTo(`${name}@sign-up.example`), 'c');
      expect((await fetch(link)).status).toBe(200);
      expect((await fetch(link, { method: 'POST' })).status).toBe(200);
    },
    Campaign: async (name) => {
      const topic = await topicOf(false);
      await subscribe(`${name}@campaign.example`, topic.topicKey);
      await ran();
      const key = await draft(topic.id);
      expect((await client.post(`/campaigns/${key}/send`)).status).toBe(200);
      await sent(key);
    },
    'Click to report': async (name) => {
      const key = await campaign(`${name}@click.example`);
      await client.post(`/campaigns/${key}/send`);
      await sent(key);
      const link = linkOf(await mailTo(`${name}@click.example`), 'l');
      // A look at a mail in its first two seconds is taken for a scanner's.
      await system.database.query(
        `update messaging.deliveries set sent_at = sent_at - interval '3 s' where sent_at is not null`,
      );
      await ran();
      expect((await fetch(link, { redirect: 'manual', headers: READER })).status).toBe(302);
      await eventually(
        'the click is counted',
        async () =>
          (await client.get(`/campaigns/${key}/report/statistics`)).at<number>('totalClicked') === 1,
      );
    },
    'Automation step': async (name) => {
      const topic = await topicOf(false);
      const nodes = [
        { id: 'start', type: 'trigger', config: {} },
        { id: 'mail', type: 'email', config: { subject: 'Welcome', contentJson: text('Hello') } },
      ];
      const edges = [{ id: 'e', source: 'start', target: 'mail' }];
      const made = await client.post('/automations', {
        name: 'Welcome',
        triggerType: 'subscriber_joins_list',
        triggerTopicId: topic.id,
      });
      const path = `/automations/${made.at('id')}`;
      await client.patch(`${path}/content`, { nodes: JSON.stringify(nodes), edges: JSON.stringify(edges) });
      expect((await client.post(`${path}/activate`)).status).toBe(200);
      await ran();
      await subscribe(`${name}@automation.example`, topic.topicKey);
      await mailTo(`${name}@automation.example`);
    },
    Bounce: async (name) => {
      const email = `${name}@bounce.example`;
      const key = await campaign(email);
      await client.post(`/campaigns/${key}/send`);
      await sent(key);
      const from = relay.messages.find(({ to }) => to[0] === email)?.from ?? '';
      expect(new ReturnPaths(SECRETS.TOKEN_SECRET).read(from)).not.toBeNull();
      const report = readFileSync(
        join(projectRoot(), 'libs/deliverability/src/bounces/samples/postfix-user-unknown.eml'),
        'latin1',
      );
      await ran();
      const smtp = await SmtpClient.open(system.worker.bouncePort ?? 0);
      expect(await smtp.send('', [from], report)).toMatch(/^250 /);
      smtp.close();
      await eventually('the address is suppressed', async () =>
        (await client.get(`/suppressions/${encodeURIComponent(email)}`)).at<boolean>('suppressed'),
      );
    },
  };

  /** Files of which a function ran both times, and does not run while the programs are idle. */
  async function trace(journey: string): Promise<readonly string[]> {
    const runs: ReadonlySet<string>[] = [];
    for (const name of ['one', 'two']) {
      await journeys[journey]!(name);
      runs.push(await ran());
    }
    return [...runs[0]!].filter((file) => runs[1]!.has(file) && !idle.has(file)).toSorted();
  }

  const rows = new Map(
    [...page.matchAll(/^\| \[(.+?)\]\(.+?\) \| (\d+) \| (\d+) \| (\d+) \|$/gm)].map(
      ([row, heading, ...figures]) => [heading, { row, figures: figures.map(Number) }],
    ),
  );
  let written = page;

  it.each(Object.keys(journeys))('tells what ran, and what there is to read, for: %s', async (journey) => {
    const files = await trace(journey);
    const toRead = filesToRead(journey);
    const measured = [files.length, files.filter(isOfBusiness).length, toRead.length];
    if (process.env['SHOW_JOURNEYS'] !== undefined) console.log([journey, ...files].join('\n'));
    const { row = '', figures = [] } = rows.get(journey) ?? {};
    if (UPDATES) {
      const [, title] = /^\| (\[.+?\]\(.+?\))/.exec(row) ?? [];
      written = written.replace(row, `| ${[title, ...measured].join(' | ')} |`);
      writeFileSync(PAGE, written);
      return;
    }
    expect(new Set(toRead).size).toBe(toRead.length);
    const ranAtAll = new Set([...files, ...idle]);
    expect(toRead.filter((file) => !ranAtAll.has(file))).toEqual([]);
    expect(figures[2]).toBe(measured[2]);
    for (const at of [0, 1]) expect(Math.abs((figures[at] ?? 0) - measured[at]!)).toBeLessThanOrEqual(NOISE);
  });
});
