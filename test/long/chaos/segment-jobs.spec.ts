import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { eventually } from '#testing/time/eventually';
import { type RunningProgram, startProgram } from '#testing/programs/program';
import { type RunningSystem, startSystem } from '#testing/programs/system';

const RULES = JSON.stringify({ version: 1, where: { field: 'firstName', op: 'eq', value: 'Ada' } });
const EVERY_MS = 60_000;
/** Lease of a killed worker on its job: after it another may go on. */
const LEASE_MS = 30_000;
/** Evaluations that one worker has under way at most, and of one project. */
const [OF_WORKER, OF_PROJECT] = [3, 2];

describe('segments that are due', () => {
  let system: RunningSystem;
  let holder: pg.Client;
  let second: RunningProgram | undefined;

  beforeAll(async () => {
    system = await startSystem();
    holder = new pg.Client({ connectionString: system.database.url });
    await holder.connect();
    await holder.query('set role mailwright_system');
  });
  afterAll(async () => {
    await holder?.end();
    await second?.kill();
    await system?.stop();
  });

  /** A project with one Ada and so many segments of Adas, which were looked at before she was called so. */
  async function segmentsOf(count: number): Promise<string[]> {
    const client = await (await system.project()).client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    const topicKeys = [topic.at('topicKey')];
    await client.post('/subscribers', { email: 'ada@example.com', topicKeys, consent: { source: 'form' } });
    const ids: string[] = [];
    for (let number = 0; number < count; number += 1)
      ids.push((await client.post('/segments', { name: `Segment ${number}`, rules: RULES })).at('id'));
    expect((await client.patch('/subscribers/ada%40example.com', { firstName: 'Ada' })).status).toBe(200);
    return ids;
  }

  const query = async <Row extends object>(text: string, ...values: unknown[]) =>
    system.database.query<Row & Record<string, unknown>>(text, values);

  /** Holds evaluations of these segments until `letGo`: Ada is about to become a member by other hands. */
  const hold = async (ids: readonly string[]) => {
    await holder.query('begin');
    await holder.query(
      `insert into audience.segment_members (segment_id, environment_id, subscriber_id, added_at)
       select s.id, s.environment_id, b.id, now() from audience.segments s
       join audience.subscribers b on b.environment_id = s.environment_id where s.id = any($1)`,
      [ids],
    );
  };
  const letGo = () => holder.query('rollback');

  const due = async (ids: readonly string[]) => {
    await query('update audience.segments set is_due = true where id = any($1)', ids);
    await system.advanceClock(EVERY_MS);
  };
  const underWay = async () => {
    const [row] = await query<{ count: number }>(
      `select count(*)::int from platform.jobs where name = 'segments.evaluate' and lease_token is not null`,
    );
    return row?.count;
  };
  const entered = async (ids: readonly string[]) => {
    const rows = await query<{ name: string }>(
      'select segment_id::text as name from audience.segment_transitions where segment_id = any($1)',
      ids,
    );
    return rows.map(({ name }) => name).sort();
  };

  it('do not wait for the large ones of another project', async () => {
    const large = await segmentsOf(OF_WORKER + 1);
    const small = await segmentsOf(3);
    await hold(large);
    await due(large);
    await eventually('as many as may are under way', async () => (await underWay()) === OF_PROJECT);
    await due(small);
    await eventually('the small ones are evaluated', async () => (await entered(small)).length === 3);
    expect(await entered(large)).toEqual([]);
    await letGo();
    await eventually('all are', async () => (await entered(large)).length === large.length);
    expect([await entered(large), await entered(small)]).toEqual([large.toSorted(), small.toSorted()]);
  });

  it('are evaluated by all workers at once, those of one that was killed by another, each once', async () => {
    second = await startProgram('worker', { ...system.variables, PUBLIC_URL: system.baseUrl });
    const ids = (await Promise.all([segmentsOf(2), segmentsOf(2), segmentsOf(2), segmentsOf(2)])).flat();
    await hold(ids);
    await due(ids);
    await eventually('both have all hands full', async () => (await underWay()) === 2 * OF_WORKER);
    await system.worker.kill();
    await letGo();
    await eventually('the other one’s are done', async () => (await entered(ids)).length >= OF_WORKER);
    await system.advanceClock(LEASE_MS);
    await eventually('all are', async () => (await entered(ids)).length === ids.length);
    expect(await entered(ids)).toEqual(ids.toSorted());
    const left = await query(
      `select state, last_error from platform.jobs where name = 'segments.evaluate' and state <> 'DONE'`,
    );
    expect(left).toEqual([]);
  });
});
