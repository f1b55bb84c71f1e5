import { loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { startProgram } from '#testing/programs/program';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { addKey, startSystemOn, type SystemProject } from '#testing/programs/system';
import { startBenchServer } from './support/bench-server.js';
import { median, spread } from './support/figures.js';
import { load, type LoadRequest, post } from './support/http-load.js';
import { cpuSeconds, treeCpuSeconds } from './support/process-usage.js';
import { startSinkProcess } from './support/sink-process.js';

/**
 * Messages over HTTP: one at a time against subscribers one at a time, in turn, without the worker and beside it; batches of 100; and
 * how long after it was accepted a mail is on the wire, at rest and beside a campaign. Live mail goes to a sink on loopback.
 */
const PAIRS = Number(process.env['PAIRS'] ?? 5);
const REQUESTS = Number(process.env['REQUESTS'] ?? 400);
const BATCHES = Number(process.env['BATCHES'] ?? 120);
const RECIPIENTS = Number(process.env['RECIPIENTS'] ?? 100_000);
const PARTS = process.env['PARTS']?.split(',') ?? ['one', 'batches', 'beside'];
const OF_A_BATCH = 100;
/** Batches of a key within a minute, and how many are asked for at once. */
const OF_A_KEY = 6;
const PARALLEL = 4;
/** Messages a second while the wire is watched: no more than a key may send. */
const WATCHED_RATE = 8;
const REST_S = 20;

const say = (line: string) => process.stdout.write(`${line}\n`);
const server = await startBenchServer();
const sink = await startSinkProcess();
const system = await startSystemOn(server.database, {
  SMTP_URL: sink.url,
  SMTP_CONNECTIONS: '50',
  REQUIRE_VERIFIED_DOMAIN: 'false',
  OUTGOING_PRIVATE_ADDRESSES: 'true',
  NODE_OPTIONS: process.env['NODE_OPTIONS_OF_PROGRAMS'] ?? '',
});
let serial = 0;

try {
  const project = await system.project();
  await system.database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
  const client = await project.client('LIVE');
  const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
  const testTopic = await (
    await project.client('TEST')
  ).post('/topics', { name: 'News', doubleOptInEnabled: false });
  const topicKeys = { LIVE: topic.at('topicKey'), TEST: testTopic.at('topicKey') };
  if (PARTS.includes('one')) {
    await system.worker.stop();
    for (const environment of ['TEST', 'LIVE'] as const)
      for (const connections of [1, 16])
        await compareOne(project, environment, topicKeys[environment], connections, 'alone');
    system.worker = await startProgram('worker', system.variables);
    await nothingWaits();
    for (const connections of [1, 16])
      await compareOne(project, 'LIVE', topicKeys.LIVE, connections, 'beside the worker');
    await nothingWaits();
  }
  if (PARTS.includes('batches'))
    for (const environment of ['TEST', 'LIVE'] as const) await sendBatches(project, environment);
  if (PARTS.includes('beside')) await watchWire(project, client, topic.at('id'));
} finally {
  await system.stop();
  await sink.stop();
  await server.stop();
}

type Environment = 'LIVE' | 'TEST';

function scopeOf(project: SystemProject, environment: Environment) {
  return environment === 'LIVE' ? project.live : project.test;
}

function nothingWaits(): Promise<unknown> {
  return eventually(
    'all messages have ended',
    async () => {
      const rows = await system.database.query(
        `select 1 from messaging.deliveries where kind = 'MESSAGE' and finished_at is null limit 1`,
      );
      return rows.length === 0;
    },
    600_000,
  );
}

function message(): object {
  serial += 1;
  return {
    to: `customer-${serial}@example.com`,
    purpose: 'The person ordered.',
    subject: 'Your order {{ data.order }}',
    text: 'Hello {{ data.name | default: "you" }}, your order {{ data.order }} of {{ data.total }} EUR is on its way.',
    data: { order: `A-${serial}`, total: serial % 500 },
    tags: ['receipt'],
  };
}

function subscriber(topicKey: string): LoadRequest {
  serial += 1;
  return post('/api/v1/subscribers', 201, {
    email: `person-${serial}@example.com`,
    topicKeys: [topicKey],
    consent: { source: 'bench' },
  });
}

interface Measured {
  /** Milliseconds from request to answer. */
  readonly ms: number;
  readonly apiUs: number;
  readonly postgresUs: number;
}

/** Each connection has a key of its own: the limit is one of keys. */
async function measured(
  project: SystemProject,
  environment: Environment,
  connections: number,
  next: () => LoadRequest,
): Promise<Measured> {
  const keys = await Promise.all(
    Array.from({ length: connections }, () => addKey(system.database, scopeOf(project, environment))),
  );
  const each = Math.ceil((REQUESTS * Math.sqrt(connections)) / connections);
  const before = {
    api: cpuSeconds(system.api.pid),
    postgres: treeCpuSeconds(server.pid),
    at: performance.now(),
  };
  await Promise.all(
    keys.map((key) => {
      let left = each;
      const target = { port: system.api.port, headers: { 'x-api-key': key } };
      return load(target, () => ((left -= 1) < 0 ? undefined : next()), { connections: 1, seconds: 600 });
    }),
  );
  const requests = each * connections;
  return {
    ms: ((performance.now() - before.at) * connections) / requests,
    apiUs: ((cpuSeconds(system.api.pid) - before.api) * 1e6) / requests,
    postgresUs: ((treeCpuSeconds(server.pid) - before.postgres) * 1e6) / requests,
  };
}

async function compareOne(
  project: SystemProject,
  environment: Environment,
  topicKey: string,
  connections: number,
  beside: string,
): Promise<void> {
  const pairs: { messages: Measured; subscribers: Measured }[] = [];
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const subscribers = await measured(project, environment, connections, () => subscriber(topicKey));
    const messages = await measured(project, environment, connections, () =>
      post('/api/v1/messages', 202, message()),
    );
    if (pair > 0) pairs.push({ messages, subscribers });
  }
  const of = (pick: (pair: (typeof pairs)[number]) => number, digits = 2) => spread(pairs.map(pick), digits);
  const where = `${environment}, ${connections} at once, ${beside}`;
  say(`message, ms, ${where}: ${of(({ messages }) => messages.ms)}`);
  say(`subscriber, ms, ${where}: ${of(({ subscribers }) => subscribers.ms)}`);
  say(
    `CPU µs of api and PostgreSQL, ${where}: message ${of(({ messages }) => messages.apiUs, 0)} and ${of(({ messages }) => messages.postgresUs, 0)}, ` +
      `subscriber ${of(({ subscribers }) => subscribers.apiUs, 0)} and ${of(({ subscribers }) => subscribers.postgresUs, 0)}`,
  );
  say(`ratio, ${where}: ${of(({ messages, subscribers }) => messages.ms / subscribers.ms)}`);
}

async function sendBatches(project: SystemProject, environment: Environment): Promise<void> {
  const perSecond: number[] = [];
  for (let time = 0; time <= PAIRS; time += 1) {
    const run = { left: BATCHES };
    const began = performance.now();
    const sender = async (): Promise<void> => {
      while (run.left > 0) {
        const key = await addKey(system.database, scopeOf(project, environment));
        let ofKey = OF_A_KEY;
        const next = () => {
          if (run.left <= 0 || ofKey <= 0) return;
          run.left -= 1;
          ofKey -= 1;
          return post('/api/v1/messages/batch', 202, {
            messages: Array.from({ length: OF_A_BATCH }, message),
          });
        };
        const target = { port: system.api.port, headers: { 'x-api-key': key } };
        await load(target, next, { connections: 1, seconds: 600 });
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, sender));
    if (time > 0) perSecond.push((BATCHES * OF_A_BATCH) / ((performance.now() - began) / 1_000));
  }
  say(`messages/s by batches, ${environment}, beside the worker: ${spread(perSecond, 0)}`);
  await nothingWaits();
}

/** From its acceptance until it is written down that the mail server took the mail, which comes after the wire. */
async function watchWire(project: SystemProject, client: ApiClient, topicId: string): Promise<void> {
  say(`accepted to sent, at rest, ms: ${await watched(project, () => pause(REST_S * 1_000))}`);
  await insertSubscribers(system.database, project.live, topicId, RECIPIENTS);
  const draft = {
    name: 'Spring',
    subject: 'Hello {{ subscriber.first_name | default: "you" }}',
    contentJson: JSON.stringify({
      blocks: [{ type: 'text', html: '<p>Read <a href="https://example.com">on</a>.</p>' }],
    }),
    topicIds: [topicId],
  };
  const key = (await client.post('/campaigns', draft)).at('campaignKey');
  const sent = await client.post(`/campaigns/${key}/send`);
  if (sent.status !== 200) throw new Error(sent.text);
  const began = performance.now();
  const figures = await watched(project, () =>
    eventually(
      'the campaign is sent',
      async () => (await client.get(`/campaigns/${key}`)).at('status') === 'SENT',
      3_600_000,
    ),
  );
  const seconds = (performance.now() - began) / 1_000;
  say(
    `campaign of ${RECIPIENTS}: ${(RECIPIENTS / seconds).toFixed(0)} mails/s, load ${loadavg()[0]?.toFixed(1)}`,
  );
  say(`accepted to sent, beside a campaign, ms: ${figures}`);
}

async function watched(project: SystemProject, during: () => Promise<unknown>): Promise<string> {
  const tag = `watched-${(serial += 1)}`;
  const key = await addKey(system.database, project.live);
  let isOver = false;
  const over = during().finally(() => {
    isOver = true;
  });
  const next = () => (isOver ? undefined : post('/api/v1/messages', 202, { ...message(), tags: [tag] }));
  await load({ port: system.api.port, headers: { 'x-api-key': key } }, next, {
    connections: 4,
    seconds: 3_600,
    rate: WATCHED_RATE,
  });
  await over;
  await nothingWaits();
  const rows = await system.database.query<{ ms: number }>(
    `select (extract(epoch from sent_at - created_at) * 1000)::float8 as ms from messaging.messages
     where status = 'SENT' and $1 = any(tags) order by 1`,
    [tag],
  );
  const times = rows.map(({ ms }) => ms);
  const p99 = times[Math.floor((times.length - 1) * 0.99)] ?? Number.NaN;
  return `p50 ${median(times).toFixed(0)} p99 ${p99.toFixed(0)} most ${(times.at(-1) ?? Number.NaN).toFixed(0)} of ${times.length}`;
}
