import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '#testing/http/api-client';
import { createProject } from '#testing/fixtures/fixtures';
import { startSystemOn } from '#testing/programs/system';
import { makePartitions, type Query } from './support/audience-data.js';
import { startBenchServer } from './support/bench-server.js';
import { fillEnvironment, type FilledEnvironment } from '#testing/programs/filled-environment';
import { median, spread } from './support/figures.js';
import { startSinkProcess } from './support/sink-process.js';

/**
 * Lists, reports and a small campaign of some environments, beside a tenth of ENVIRONMENTS and beside all of them. Each has
 * PEOPLE subscribers and three campaigns that were sent to all of them, of which one in five was opened.
 */
const ENVIRONMENTS = Number(process.env['ENVIRONMENTS'] ?? 100);
const PEOPLE = Number(process.env['PEOPLE'] ?? 20_000);
const LOOKS = Number(process.env['LOOKS'] ?? 10);
/** Number of environments that are looked at, and number that are filled at the same time. */
const SAMPLED = 10;
const PARALLEL = 3;
const MAILS = 1_000;
const SIZE = 20;

interface Sample {
  readonly client: ApiClient;
  readonly data: FilledEnvironment;
  readonly segmentId: string;
}

/** Milliseconds by name: of each environment's first look, and of its later ones. */
type Times = Map<string, { readonly first: number[]; readonly later: number[] }>;

const say = (line: string) => process.stdout.write(`${line}\n`);
const server = await startBenchServer();
const sink = await startSinkProcess();
const { database } = server;
const query: Query = (text, values) => database.query(text, values);
const system = await startSystemOn(database, { SMTP_URL: sink.url, REQUIRE_VERIFIED_DOMAIN: 'false' });

try {
  await makePartitions(query);
  const samples: Sample[] = [];
  for (let at = 0; at < SAMPLED; at += 1) samples.push(await sample());
  await fill(ENVIRONMENTS / 10 - SAMPLED);
  const few = await lookAtAll(samples);
  await fill(ENVIRONMENTS * 0.9);
  const many = await lookAtAll(samples);
  for (const [name, { first, later }] of many) {
    const before = few.get(name)!;
    say(`${name}, ms: ${compared(later, before.later)}`);
    if (first.length > 0) say(`  the first look, ms: ${compared(first, before.first)}`);
  }
} finally {
  await system.stop();
  await sink.stop();
  await server.stop();
}

async function sample(): Promise<Sample> {
  const project = await system.project('BENCH');
  await query(`update billing.subscriptions set plan_tier = 'PRO'`);
  const data = await fillEnvironment(query, project.live, PEOPLE, MAILS);
  const client = await project.client('LIVE');
  const rules = JSON.stringify({ version: 1, where: { field: 'custom.plan', op: 'eq', value: 'pro' } });
  const segment = await client.post('/segments', { name: 'Pros', rules });
  if (segment.status !== 201) throw new Error(segment.text);
  return { client, data, segmentId: segment.at('id') };
}

async function fill(environments: number): Promise<void> {
  let left = environments;
  const one = async () => {
    while (left-- > 0) {
      const { live } = await createProject(database, 'BENCH');
      await fillEnvironment(query, live, PEOPLE, MAILS);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, one));
}

/** As it is some time after it was filled: the server has cleaned up, and knows what there is. */
async function lookAtAll(samples: readonly Sample[]): Promise<Times> {
  await query('vacuum (analyze)');
  const [row] = await query<{ subscribers: string; mails: string; size: string }>(
    `select to_char((select count(*) from audience.subscribers), 'FM999,999,999') as subscribers,
       to_char((select count(*) from messaging.deliveries), 'FM999,999,999') as mails,
       pg_size_pretty(pg_database_size(current_database())) as size`,
  );
  say(`${row?.subscribers} subscribers, ${row?.mails} mails, ${row?.size}`);
  await query('checkpoint');
  const times: Times = new Map();
  for (const each of samples) {
    for (const [name, path] of paths(each)) {
      const [first = Number.NaN, ...later] = await looks(() => read(each.client, path));
      const all = times.get(name) ?? { first: [], later: [] };
      all.first.push(first);
      all.later.push(...later);
      times.set(name, all);
    }
  }
  const campaigns: number[] = [];
  for (const each of samples) campaigns.push(await millisecondsOf(() => send(each)));
  times.set(`a campaign of ${MAILS}`, { first: [], later: campaigns });
  return times;
}

function paths({ data: { topicKey, campaignKey }, segmentId }: Sample): [name: string, path: string][] {
  const middle = Math.floor(PEOPLE / SIZE / 2);
  const campaign = `/campaigns/${campaignKey}`;
  return [
    ['subscribers', '/subscribers'],
    ['subscribers, the middle page', `/subscribers?page=${middle}`],
    ['subscribers of a topic', `/subscribers?topicKey=${topicKey}`],
    ['subscribers, searched', '/subscribers?q=person.77'],
    ['subscribers, unsubscribed', '/subscribers?status=UNSUBSCRIBED'],
    ['a subscriber', '/subscribers/person.77%40example.com'],
    ['consents', '/subscribers/person.77%40example.com/consents'],
    ['members of a segment', `/segments/${segmentId}/members`],
    ['campaigns', '/campaigns'],
    ['a campaign', campaign],
    ['deliveries', `${campaign}/deliveries`],
    ['deliveries, the middle page', `${campaign}/deliveries?page=${middle}`],
    ['deliveries, sent', `${campaign}/deliveries?status=SENT`],
    ['statistics', `${campaign}/report/statistics`],
    ['timeline', `${campaign}/report/timeline`],
    ['languages', `${campaign}/report/languages`],
    ['subscription', '/billing/subscription'],
    ['usage', '/billing/usage'],
  ];
}

async function looks(look: () => Promise<void>): Promise<number[]> {
  const took: number[] = [];
  for (let left = LOOKS; left > 0; left -= 1) took.push(await millisecondsOf(look));
  return took;
}

async function read({ baseUrl, key }: ApiClient, path: string): Promise<void> {
  const answer = await fetch(`${baseUrl}/api/v1${path}`, { headers: { 'x-api-key': key ?? '' } });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
}

/** From the request until it is sent. */
async function send({ client, data }: Sample): Promise<void> {
  const created = await client.post('/campaigns', {
    name: 'Bench',
    subject: 'News, {{ subscriber.first_name }}',
    contentText: 'Hello {{ subscriber.first_name }}, here is the news.',
    topicIds: [data.smallTopicId],
  });
  const path = `/campaigns/${created.at('campaignKey')}`;
  const queued = await client.post(`${path}/send`);
  if (queued.status !== 200) throw new Error(queued.text);
  while ((await client.get(path)).at('status') !== 'SENT') await delay(20);
}

async function millisecondsOf(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

function compared(many: readonly number[], few: readonly number[]): string {
  return `${spread(many, 1)} against ${spread(few, 1)}, ratio ${(median(many) / median(few)).toFixed(2)}`;
}
