import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/api-client';
import { eventually } from '#testing/eventually';
import { startProgram } from '#testing/program';
import { insertSubscribers } from '#testing/subscribers';
import { type RunningSystem, startSystem, type SystemProject } from '#testing/system';

const PEOPLE = Number(process.env['AUTOMATION_KILL_PEOPLE'] ?? 3_000);

const contentJson = JSON.stringify({ blocks: [{ type: 'text', html: '<p>Hello!</p>' }] });
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

  beforeAll(async () => {
    system = await startSystem();
    project = await system.project();
    client = await project.client('TEST');
  });
  afterAll(() => system?.stop());

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
});
