import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { type RunningProgram, startProgram } from '#testing/programs/program';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { type RunningSystem, startSystem, type SystemProject } from '#testing/programs/system';

const CLICKS = 300;
const READER = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) Gecko' };
/** A click sooner after the mail is a program's. */
const SOON_MS = 2_500;
const PEOPLE = Number(process.env['AUTOMATION_KILL_PEOPLE'] ?? 3_000);

const contentJson = JSON.stringify({
  blocks: [1, 2].map((n) => ({ type: 'button', label: 'Offer', url: `https://acme.example/${n}` })),
});
const mail = (id: string) => ({ id, type: 'email', config: { subject: id, contentJson } });
const delay = (id: string) => ({ id, type: 'delay', config: { duration: 'PT1S' } });
const nodes = [
  { id: 'start', type: 'trigger', config: {} },
  mail('first'),
  delay('wait'),
  { id: 'split', type: 'ab_split', config: { weights: { a: 50, b: 50 } } },
  mail('left'),
  delay('later'),
  mail('right'),
];
const edges = ['start first', 'first wait', 'wait split', 'split left a', 'split later b', 'later right'].map(
  (way) => {
    const [source, target, branch] = way.split(' ');
    return { id: way, source, target, branch };
  },
);

describe('workers that are killed in the middle of an automation', () => {
  let system: RunningSystem;
  let project: SystemProject;
  let client: ApiClient;
  let api: RunningProgram;
  let automationId: string;

  beforeAll(async () => {
    system = await startSystem();
    project = await system.project();
    client = await project.client('TEST');
    // One that can be killed: the system's own answers the client.
    api = await startProgram('api', system.variables);
  });
  afterAll(async () => {
    await api?.stop();
    await system?.stop();
  });

  const count = async (statement: string): Promise<number> =>
    (await system.database.query<{ n: number }>(statement))[0]?.n ?? 0;

  async function killOnce(what: string, isTime: () => Promise<boolean>): Promise<void> {
    await eventually(what, isTime);
    await system.worker.kill();
    system.worker = await startProgram('worker', system.variables);
  }

  it('take each step of each person once, and none is left out', async () => {
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    const created = await client.post('/automations', {
      name: 'Welcome',
      triggerType: 'subscriber_joins_list',
      triggerTopicId: topic.at('id'),
    });
    const id = created.at('id');
    automationId = id;
    await client.patch(`/automations/${id}/content`, {
      nodes: JSON.stringify(nodes),
      edges: JSON.stringify(edges),
    });
    expect((await client.post(`/automations/${id}/activate`)).status).toBe(200);
    await insertSubscribers(system.database, project.test, topic.at('id'), PEOPLE);

    const steps = () => count('select count(*)::int as n from messaging.automation_steps');
    await killOnce('the first steps are taken', async () => (await steps()) > 0);
    await killOnce('the first people woke up', async () => (await steps()) > PEOPLE * 3);
    await killOnce('more people woke up', async () => (await steps()) > PEOPLE * 4);
    await eventually(
      'everybody is through',
      async () =>
        (await count(
          `select count(*)::int as n from messaging.automation_runs where status = 'COMPLETED'`,
        )) === PEOPLE,
    );

    // Each of the two ways, whole: nobody's step is missing, and the key of the table allows none twice.
    const ways = await system.database.query<{ way: string }>(
      `select distinct string_agg(position::text, ' ' order by position) as way
       from messaging.automation_steps group by run_id order by 1`,
    );
    expect(ways.map(({ way }) => way)).toEqual(['0 1 2 3 4', '0 1 2 3 5 6']);
    const mails = await system.database.query(
      `select count(*)::int as mails, count(distinct source_id)::int as steps, count(distinct subscriber_id)::int as people,
         (count(*) filter (where messaging.place_of_step(source_id) = 1))::int as first
       from messaging.deliveries where kind = 'AUTOMATION'`,
    );
    expect(mails).toEqual([{ mails: PEOPLE * 2, steps: PEOPLE * 2, people: PEOPLE, first: PEOPLE }]);
    expect((await client.get(`/automations/${id}`)).body).toMatchObject({
      totalEntered: PEOPLE,
      totalCompleted: PEOPLE,
      currentlyActive: 0,
    });
  });

  /** Paths of the tracked links of some mails, with the node that sent each. */
  async function trackedLinks(): Promise<readonly string[]> {
    const mails = await system.database.query<{ raw: Buffer }>(
      `select m.raw from messaging.test_inbox_messages m join messaging.deliveries d on d.id = m.delivery_id
       where d.kind = 'AUTOMATION' and d.state = 'SENT' order by md5(m.id::text) limit 100`,
    );
    const links = await Promise.all(
      mails.map(async ({ raw }) => {
        const { html = '' } = await PostalMime.parse(raw);
        return [...html.matchAll(/\/l\/[\w-]+/g)].map(([path]) => path);
      }),
    );
    return links.flat();
  }

  it('leave numbers by node that are what steps, mails and events say, clicks through a killed api among them', async () => {
    await eventually(
      'all mails are sent, for long enough',
      async () =>
        (await count(
          `select count(*)::int as n from messaging.deliveries
           where kind = 'AUTOMATION' and sent_at < now() - interval '${SOON_MS} milliseconds'`,
        )) ===
        PEOPLE * 2,
    );
    const links = await trackedLinks();
    let answered = 0;
    for (let clicks = 0; clicks < CLICKS; clicks += 1) {
      const path = links[randomInt(links.length)] ?? '';
      const url = `http://127.0.0.1:${api.port}${path}`;
      const { status } = await fetch(url, { headers: READER, redirect: 'manual' });
      if (status === 302) answered += 1;
      if (clicks % 100 !== 50) continue;
      await api.kill();
      api = await startProgram('api', system.variables);
    }
    await api.stop();
    expect(answered).toBe(CLICKS);
    const report = (await client.get(`/automations/${automationId}/report`)).body as Report;
    const rows = await system.database.query(
      `select (array['start', 'first', 'wait', 'split', 'left', 'later', 'right'])[s.position + 1] as "nodeId",
         count(*)::int as entered, count(*)::int as left, count(d.id)::int as sent,
         (count(*) filter (where e.clicks > 0))::int as "uniqueClicks", coalesce(sum(e.clicks), 0)::int as clicks
       from messaging.automation_steps s
       left join messaging.deliveries d on d.source_id = messaging.step_id(s.run_id, s.position) and d.state = 'SENT'
       left join lateral (
         select count(*) as clicks from messaging.delivery_events e
         where e.delivery_id = d.id and e.type = 'CLICKED' and e.classification = 'human'
       ) e on true
       group by s.position order by s.position`,
    );
    expect(
      report.nodes.map(({ nodeId, entered, left, sent, uniqueClicks, links: followed }) => {
        const clicks = followed.reduce((sum, link) => sum + link.clicks, 0);
        return { nodeId, entered, left, sent, uniqueClicks, clicks };
      }),
    ).toEqual(rows);
    expect(report.totals).toMatchObject({ entered: PEOPLE, completed: PEOPLE, sent: PEOPLE * 2 });
    expect(report.totals.uniqueClicks).toBeGreaterThan(0);
    const variables = { ...system.variables, PATH: process.env['PATH'] ?? '' };
    for (const check of ['check:automations', 'check:statistics'])
      expect(await runCliForJson(variables, [check])).toEqual({ discrepancies: [] });
  });
});

interface Report {
  readonly totals: Readonly<Record<string, number>>;
  readonly nodes: readonly {
    readonly nodeId: string;
    readonly entered: number;
    readonly left: number;
    readonly sent: number;
    readonly uniqueClicks: number;
    readonly links: readonly { readonly clicks: number }[];
  }[];
}
