import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '#platform';
import { startPostgres } from '#platform/embedded-postgres';
import { ApiClient } from '../test/support/api-client.js';
import { addKey, startSystem } from '../test/support/system.js';
import { fillAudience } from './support/audience-data.js';
import { spread } from './support/figures.js';
import { cpuSeconds } from './support/process-usage.js';

/** The pre-send analysis of a campaign to nine in ten of `ROWS` people, over HTTP: with and without a segment. */
const ROWS = Number(process.env['ROWS'] ?? 200_000);
const TIMES = Number(process.env['TIMES'] ?? 5);
const RULES = { version: 1, where: { field: 'custom.plan', op: 'in', value: ['pro', 'team'] } };

const say = (line: string) => process.stdout.write(`${line}\n`);
const directory = await mkdtemp(join(tmpdir(), 'mailwright-bench-'));
const postgres = await startPostgres({ directory: join(directory, 'postgres') });
process.env['MAILWRIGHT_TEST_POSTGRES'] = postgres.url('').replace(/\/$/, '');
await postgres.ensureDatabase('mailwright_template');
await migrate(postgres.url('mailwright_template'));
const system = await startSystem({ REQUIRE_VERIFIED_DOMAIN: 'false' });

try {
  const query = system.database.query.bind(system.database);
  const { scope, topics } = await fillAudience(query, { subscribers: ROWS, events: 0 });
  await query(
    `insert into billing.subscriptions (tenant_id, plan_tier, status, billing_interval, anchored_at, created_at, updated_at)
     values ($1, 'PRO', 'ACTIVE', 'MONTHLY', now(), now(), now())`,
    [scope.tenantId],
  );
  // Their keys are those that come next.
  await query('delete from messaging.campaigns');
  const client = new ApiClient(system.baseUrl, await addKey(system.database, scope));
  const segment = await client.post('/segments', { name: 'Paying', rules: JSON.stringify(RULES) });
  for (const segmentIds of [[], [segment.at('id')]]) {
    const campaign = await client.post('/campaigns', {
      name: 'News',
      subject: 'News for {{ subscriber.first_name }}',
      previewText: 'What is new',
      contentText: 'Hello {{ subscriber.first_name }}, here is the news.',
      topicIds: topics.slice(0, 1).map(({ id }) => id),
      segmentIds,
    });
    if (campaign.status !== 201) throw new Error(campaign.text);
    const path = `/campaigns/${campaign.at('campaignKey')}/pre-send-analysis`;
    const took: number[] = [];
    const cpu: number[] = [];
    for (let time = 0; time <= TIMES; time += 1) {
      const before = { at: performance.now(), cpu: cpuSeconds(system.api.pid) };
      const answer = await client.get(path);
      if (answer.status !== 200) throw new Error(answer.text);
      if (time === 0)
        say(`${ROWS} people, ${segmentIds.length} segments: ${JSON.stringify(answer.at('audience'))}`);
      else {
        took.push(performance.now() - before.at);
        cpu.push((cpuSeconds(system.api.pid) - before.cpu) * 1_000);
      }
    }
    say(`  ${spread(took, 0)} ms, of them ${spread(cpu, 0)} ms CPU of the api`);
  }
} finally {
  await system.stop();
  await postgres.stop();
  await rm(directory, { recursive: true, force: true });
}
