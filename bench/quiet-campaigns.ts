import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '#testing/api-client';
import { createProject } from '#testing/fixtures';
import { insertSubscribers } from '#testing/subscribers';
import { startSystemOn } from '#testing/system';
import { startBenchServer } from './support/bench-server.js';
import { spread } from './support/figures.js';
import { startSinkProcess } from './support/sink-process.js';

/**
 * A campaign beside campaigns of other tenants that are being sent and of which all mails wait for a later try, against the same
 * campaign while those are paused. And what a worker asks of the database beside them when nobody sends anything.
 */
const RECIPIENTS = Number(process.env['RECIPIENTS'] ?? 20_000);
const QUIET = Number(process.env['QUIET'] ?? 1_000);
const PAIRS = Number(process.env['PAIRS'] ?? 5);
const CONNECTIONS = process.env['CONNECTIONS'] ?? '50';
const REST_MS = 10_000;
const WAITING_MAILS = 20;

const server = await startBenchServer();
const sink = await startSinkProcess();
const { database } = server;
const system = await startSystemOn(database, {
  SMTP_URL: sink.url,
  SMTP_CONNECTIONS: CONNECTIONS,
  REQUIRE_VERIFIED_DOMAIN: 'false',
});

try {
  const project = await system.project();
  await database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
  const client = await project.client('LIVE');
  const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
  await insertSubscribers(database, project.live, topic.at('id'), RECIPIENTS);
  for (let tenants = 0; tenants < QUIET; tenants += 1) await addQuietCampaign();
  await database.query('analyze');
  process.stdout.write(`${RECIPIENTS} recipients, ${QUIET} quiet campaigns of as many tenants\n`);
  const ours: number[] = [];
  const alone: number[] = [];
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    await setQuiet('SENDING');
    const beside = await mailsPerSecond(client, topic.at('id'));
    await setQuiet('PAUSED');
    const reference = await mailsPerSecond(client, topic.at('id'));
    process.stdout.write(`pair ${pair}: ${beside.toFixed(0)} / ${reference.toFixed(0)}\n`);
    if (pair === 0) continue;
    ours.push(beside);
    alone.push(reference);
  }
  process.stdout.write(`mails/s: ${spread(ours)} against ${spread(alone)}\n`);
  process.stdout.write(`ratio: ${spread(ours.map((each, pair) => each / (alone[pair] ?? Number.NaN)))}\n`);
  const restAlone = await transactionsPerSecond();
  await setQuiet('SENDING');
  const rest = await transactionsPerSecond();
  process.stdout.write(`transactions/s at rest: ${rest.toFixed(1)} against ${restAlone.toFixed(1)}\n`);
  process.stdout.write(`transactions/s that they add: ${(rest - restAlone).toFixed(1)}\n`);
} finally {
  await system.stop();
  await sink.stop();
  await server.stop();
}

/** Of a tenant of its own; its mails wait for a day. */
async function addQuietCampaign(): Promise<void> {
  const { live } = await createProject(database, 'QUIET');
  await database.query(
    `with campaign as (
       insert into messaging.campaigns (id, environment_id, campaign_key, name, subject, status, queued_at, expanded_at,
         created_at, updated_at)
       values (platform.new_id(), $1, 'QUIET-1', 'Quiet', 'Quiet', 'PAUSED', now(), now(), now(), now())
       returning id, queued_at
     )
     insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, address, address_key, message_id, state,
       attempt, created_at, next_attempt_at)
     select platform.new_id(), (queued_at at time zone 'UTC')::date, $1, 'CAMPAIGN', campaign.id, n || '@example.com',
       n || '@example.com', '<' || n || '.' || campaign.id || '@example.com>', 'DEFERRED', 1, now(), now() + interval '1 day'
     from campaign cross join generate_series(1, $2::int) n`,
    [live.environmentId, WAITING_MAILS],
  );
}

async function setQuiet(status: 'SENDING' | 'PAUSED'): Promise<void> {
  await database.query(`update messaging.campaigns set status = $1 where campaign_key = 'QUIET-1'`, [status]);
}

async function mailsPerSecond(client: ApiClient, topicId: string): Promise<number> {
  const created = await client.post('/campaigns', {
    name: 'Bench',
    subject: 'News, {{ subscriber.first_name }}',
    contentText: 'Hello {{ subscriber.first_name }}, here is the news.',
    topicIds: [topicId],
  });
  const path = `/campaigns/${created.at('campaignKey')}`;
  const begun = performance.now();
  const queued = await client.post(`${path}/send`);
  if (queued.status !== 200) throw new Error(queued.text);
  while ((await client.get(path)).at('status') !== 'SENT') await delay(50);
  return (RECIPIENTS * 1_000) / (performance.now() - begun);
}

/** Of api and worker together, while nothing is due. */
async function transactionsPerSecond(): Promise<number> {
  const count = async () => {
    const [row] = await database.query<{ n: number }>(
      `select (xact_commit + xact_rollback)::int as n from pg_stat_database where datname = current_database()`,
    );
    return row?.n ?? 0;
  };
  await delay(REST_MS);
  const before = await count();
  await delay(REST_MS);
  return ((await count()) - before) / (REST_MS / 1_000);
}
