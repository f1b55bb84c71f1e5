import { loadavg } from 'node:os';
import { ApiClient } from '#testing/http/api-client';
import { addKey, startSystemOn } from '#testing/programs/system';
import { fillAudience } from './support/audience-data.js';
import { startBenchServer } from './support/bench-server.js';
import { spread } from './support/figures.js';
import { cpuSeconds, treeCpuSeconds } from './support/process-usage.js';

/**
 * The pre-send analysis of a campaign to nine in ten of `ROWS` people, over HTTP: with one topic and with three, with and
 * without a segment. One person in 50 is suppressed, one in 200 has paused, one consent in 30 is not confirmed.
 */
const ROWS = Number(process.env['ROWS'] ?? 200_000);
const TIMES = Number(process.env['TIMES'] ?? 5);
const RULES = { version: 1, where: { field: 'custom.plan', op: 'in', value: ['pro', 'team'] } };

const say = (line: string) => process.stdout.write(`${line}\n`);
const server = await startBenchServer();
const system = await startSystemOn(server.database, { REQUIRE_VERIFIED_DOMAIN: 'false' });

try {
  const query = system.database.query.bind(system.database);
  const { scope, topics } = await fillAudience(query, { subscribers: ROWS, events: 0 });
  await query(
    `insert into billing.subscriptions (tenant_id, plan_tier, status, billing_interval, anchored_at, created_at, updated_at)
     values ($1, 'PRO', 'ACTIVE', 'MONTHLY', now(), now(), now())`,
    [scope.tenantId],
  );
  await hinder(query);
  // Their keys are those that come next.
  await query('delete from messaging.campaigns');
  const client = new ApiClient(system.baseUrl, await addKey(system.database, scope));
  const segment = await client.post('/segments', { name: 'Paying', rules: JSON.stringify(RULES) });
  for (const topicCount of [1, 3]) {
    for (const segmentIds of [[], [segment.at('id')]]) {
      const campaign = await client.post('/campaigns', {
        name: 'News',
        subject: 'News for {{ subscriber.first_name }}',
        previewText: 'What is new',
        contentText: 'Hello {{ subscriber.first_name }}, here is the news.',
        topicIds: topics.slice(0, topicCount).map(({ id }) => id),
        segmentIds,
      });
      if (campaign.status !== 201) throw new Error(campaign.text);
      say(
        `${ROWS} people, ${topicCount} topics, ${segmentIds.length} segments, load ${loadavg()[0]?.toFixed(0)}`,
      );
      await measure(client, `/campaigns/${campaign.at('campaignKey')}/pre-send-analysis`);
    }
  }
} finally {
  await system.stop();
  await server.stop();
}

async function measure(client: ApiClient, path: string): Promise<void> {
  const took: number[] = [];
  const cpu: number[] = [];
  const serverCpu: number[] = [];
  for (let time = 0; time <= TIMES; time += 1) {
    const before = {
      at: performance.now(),
      cpu: cpuSeconds(system.api.pid),
      server: treeCpuSeconds(server.pid),
    };
    const answer = await client.get(path);
    if (answer.status !== 200) throw new Error(answer.text);
    if (time === 0) {
      say(`  ${JSON.stringify(answer.at('audience'))}`);
      continue;
    }
    took.push(performance.now() - before.at);
    cpu.push((cpuSeconds(system.api.pid) - before.cpu) * 1_000);
    serverCpu.push((treeCpuSeconds(server.pid) - before.server) * 1_000);
  }
  say(
    `  ${spread(took, 0)} ms; CPU: ${spread(serverCpu, 0)} ms of the database, ${spread(cpu, 0)} ms of the api`,
  );
}

/** Suppresses or pauses some people and leaves others unconfirmed, so that there is something to tell apart. */
async function hinder(query: (text: string, values?: unknown[]) => Promise<unknown>): Promise<void> {
  await query(
    `insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at)
     select environment_id, email_key, email, (array['GLOBAL_UNSUBSCRIBE', 'SPAM_COMPLAINT', 'HARD_BOUNCE'])[1 + abs(hashtext(email_key)::bigint) / 50 % 3], now()
     from audience.subscribers where abs(hashtext(email_key)::bigint) % 50 = 0`,
  );
  await query(
    `update audience.subscribers set paused_until = now() + interval '3 days' where abs(hashtext(email_key)::bigint) % 200 = 1`,
  );
  await query(
    `update audience.consents set status = 'PENDING_CONFIRMATION', subscribed_at = null
     where status = 'SUBSCRIBED' and abs(hashtext(subscriber_id::text || topic_id::text)::bigint) % 30 = 1`,
  );
  for (const table of ['subscribers', 'consents', 'suppressions'])
    await query(`vacuum (analyze) audience.${table}`);
}
