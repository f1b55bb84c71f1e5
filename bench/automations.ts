import { setTimeout as pause } from 'node:timers/promises';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { startSystemOn } from '#testing/programs/system';
import { startBenchServer } from './support/bench-server.js';
import { cpuSeconds, treeCpuSeconds } from './support/process-usage.js';

/**
 * People who wait in an automation: what each costs, and what a worker does meanwhile. People who wake together and
 * pass a condition and a delay. People who enter a segment together, and an automation with it.
 */
const WAITING = Number(process.env['WAITING'] ?? 1_000_000);
const WAKING = Number(process.env['WAKING'] ?? 100_000);
const CHANGES = Number(process.env['CHANGES'] ?? 100_000);
const REST_S = Number(process.env['REST_S'] ?? 20);
const DEADLINE_MS = 1_800_000;

const server = await startBenchServer();
const system = await startSystemOn(server.database);

try {
  const project = await system.project('BENCH');
  const client = await project.client('TEST');
  const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
  const waiting = await activated(
    client,
    { triggerType: 'subscriber_joins_list', triggerTopicId: topic.at('id') },
    {},
  );
  await measureRest('nobody inside');
  await measureEntry(waiting, () =>
    insertSubscribers(system.database, project.test, topic.at('id'), WAITING),
  );
  // Maintenance that so many new rows cause once: no part of their cost while they wait.
  await system.database.query('vacuum analyze');
  await system.database.query('checkpoint');
  await measureRest(`${WAITING} people waiting`);
  await measureWaking(waiting);
  await measureSegment(client);
} finally {
  await system.stop();
  await server.stop();
}

/** A delay, a condition, and another delay on either side. */
async function activated(api: ApiClient, fields: object, config: object): Promise<string> {
  const id = (await api.post('/automations', { name: 'Bench', ...fields })).at('id');
  const delay = (name: string) => ({ id: name, type: 'delay', config: { duration: 'P30D' } });
  const rules = { version: 1, where: { field: 'firstName', op: 'startsWith', value: 'Reader 1' } };
  const nodes = [
    { id: 'start', type: 'trigger', config },
    delay('wait'),
    { id: 'asked', type: 'condition', config: { rules } },
    delay('yes'),
    delay('no'),
  ];
  const edges = ['start wait', 'wait asked', 'asked yes yes', 'asked no no'].map((way) => {
    const [source, target, branch] = way.split(' ');
    return { id: way, source, target, ...(branch === undefined ? {} : { branch }) };
  });
  await api.patch(`/automations/${id}/content`, {
    nodes: JSON.stringify(nodes),
    edges: JSON.stringify(edges),
  });
  const { status, body } = await api.post(`/automations/${id}/activate`);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return id;
}

async function count(statement: string, values: readonly unknown[] = []): Promise<number> {
  const [row] = await system.database.query<{ n: number }>(statement, [...values]);
  return row?.n ?? 0;
}

function runsOf(automationId: string, condition: string): Promise<number> {
  return count(
    `select count(*)::int as n from messaging.automation_runs r
     where r.automation_number = (select number from messaging.automations where id = $1) and ${condition}`,
    [automationId],
  );
}

/** Wall and worker's CPU seconds of `work`, until `isDone`. */
async function timed(what: string, work: () => Promise<unknown>, isDone: () => Promise<boolean>) {
  const [began, cpu] = [performance.now(), cpuSeconds(system.worker.pid)];
  await work();
  await eventually(what, isDone, DEADLINE_MS);
  return {
    seconds: (performance.now() - began) / 1_000,
    workerCpu: cpuSeconds(system.worker.pid) - cpu,
  };
}

async function measureEntry(automationId: string, work: () => Promise<unknown>): Promise<void> {
  const { seconds, workerCpu } = await timed(
    'everybody is inside',
    work,
    async () => (await runsOf(automationId, 'true')) === WAITING,
  );
  const size = (kind: string) =>
    count(`select (${kind}('messaging.automation_runs') / $1)::int as n`, [WAITING]);
  process.stdout.write(
    `${WAITING} people inserted and let in within ${seconds.toFixed(1)} s, worker's CPU ${workerCpu.toFixed(1)} s\n` +
      `bytes a waiting row: ${await size('pg_table_size')}, with its indexes ${await size('pg_total_relation_size')}\n`,
  );
}

async function measureRest(inside: string): Promise<void> {
  await system.database.query('vacuum analyze messaging.automation_runs');
  await pause(5_000);
  const used = () => [cpuSeconds(system.worker.pid), treeCpuSeconds(server.pid)];
  const before = used();
  await pause(REST_S * 1_000);
  const [worker, postgres] = used().map(
    (seconds, index) => `${(((seconds - (before[index] ?? 0)) / REST_S) * 100).toFixed(2)} %`,
  );
  process.stdout.write(
    `at rest, ${inside}: the worker ${worker}, PostgreSQL ${postgres} of a core over ${REST_S} s\n`,
  );
}

async function measureWaking(automationId: string): Promise<void> {
  const wake = () =>
    system.database.query(
      `with due as (
         select id from messaging.automation_runs
         where automation_number = (select number from messaging.automations where id = $1) limit $2::int
       ), woken as (
         update messaging.automation_runs r set wake_at = now() from due where r.id = due.id returning 1
       )
       select pg_notify('mailwright_automations', count(*)::text) from woken`,
      [automationId, WAKING],
    );
  await wake();
  const { seconds, workerCpu } = await timed(
    'all have passed the condition and the delay',
    () => Promise.resolve(),
    async () => (await runsOf(automationId, 'r.position >= 3')) === WAKING,
  );
  const steps = WAKING * 2;
  process.stdout.write(
    `${WAKING} woke together: ${(steps / seconds).toFixed(0)} steps/s, worker's CPU ${((workerCpu / steps) * 1e6).toFixed(1)} µs a step\n`,
  );
}

async function measureSegment(api: ApiClient): Promise<void> {
  const rules = { version: 1, where: { field: 'lastName', op: 'eq', value: 'Changed' } };
  const segment = await api.post('/segments', { name: 'Changed', rules: JSON.stringify(rules) });
  const segmentKey = segment.at('segmentKey');
  const id = await activated(api, { triggerType: 'segment_entered' }, { segmentKey });
  await api.get(`/segments/${segmentKey}/members`);
  await system.database.query(
    `update audience.subscribers set last_name = 'Changed', updated_at = now()
     where id in (select id from audience.subscribers limit $1::int)`,
    [CHANGES],
  );
  const members = () => api.get(`/segments/${segmentKey}/members`);
  const noted = () =>
    count('select count(*)::int as n from audience.segment_transitions where segment_id = $1', [
      segment.at('id'),
    ]);
  const evaluation = await timed(
    'all have entered the segment',
    members,
    async () => (await noted()) === CHANGES,
  );
  const entry = await timed(
    'all have entered the automation',
    () => Promise.resolve(),
    async () => (await runsOf(id, 'true')) === CHANGES,
  );
  process.stdout.write(
    `${CHANGES} entered a segment of ${WAITING} within ${evaluation.seconds.toFixed(1)} s, and the automation within ` +
      `${entry.seconds.toFixed(1)} s more; worker's CPU ${(evaluation.workerCpu + entry.workerCpu).toFixed(1)} s\n`,
  );
}
