import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { pino } from 'pino';
import { audienceEntities } from '#audience';
import { messagingEntities, MessagingWorkerModule } from '#messaging';
import { loadConfig, Notifications, PlatformModule } from '#platform';
import { CampaignExpansionService } from '../libs/messaging/src/sending/engine/campaign-expansion.service.js';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { prepareProject, SECRETS } from '#testing/programs/system';
import { startBenchServer } from './support/bench-server.js';
import { spread } from './support/figures.js';

/**
 * A campaign's recipients written down, everything durable and nothing sent yet, against one INSERT … SELECT of the same
 * columns into the same table with its indexes.
 */
const ROWS = Number(process.env['ROWS'] ?? 1_000_000);
const PAIRS = Number(process.env['PAIRS'] ?? 5);

const say = (line: string) => process.stdout.write(`${line}\n`);
const server = await startBenchServer();
const { database } = server;

@Module({
  imports: [
    PlatformModule.register({
      config: loadConfig({ NODE_ENV: 'test', DATABASE_URL: database.url, ...SECRETS }),
      logger: pino({ level: 'silent' }),
      entities: [...audienceEntities, ...messagingEntities],
      applicationName: 'bench',
    }),
    MessagingWorkerModule,
  ],
})
class Root {}

const context = await NestFactory.createApplicationContext(Root, { logger: false, abortOnError: false });
try {
  await context.get(Notifications).start();
  const expansion = context.get(CampaignExpansionService, { strict: false });
  const { live: scope } = await prepareProject(database, '');
  const topicId = await topic(scope.environmentId);
  await insertSubscribers(database, scope, topicId, ROWS);
  await database.query('vacuum analyze audience.subscribers, audience.consents');
  const pairs: { ours: number; reference: number }[] = [];
  for (let pair = 0; pair <= PAIRS; pair += 1) {
    const id = await campaign(scope.environmentId, topicId, pair);
    const ours = await timed(() => expansion.expand(scope, id, new AbortController().signal));
    const reference = await timed(() => insertAll(scope.environmentId, id, topicId));
    say(`pair ${pair}: ${ours.toFixed(0)} / ${reference.toFixed(0)} rows/s`);
    if (pair > 0) pairs.push({ ours, reference });
  }
  const column = (name: 'ours' | 'reference') =>
    spread(
      pairs.map((pair) => pair[name]),
      0,
    );
  say(`rows/s: ${column('ours')} against ${column('reference')}`);
  say(`ratio: ${spread(pairs.map(({ ours, reference }) => ours / reference))}`);
} finally {
  await context.close();
  await database.drop();
  await server.stop();
}

async function topic(environmentId: number): Promise<string> {
  const [row] = await database.query<{ id: string }>(
    `insert into audience.topics (id, environment_id, topic_key, name, status, double_opt_in_enabled, created_at, updated_at)
     values (platform.new_id(), $1, 'BENCH-1', 'News', 'ACTIVE', false, now(), now()) returning id`,
    [environmentId],
  );
  return row?.id ?? '';
}

/** As it is once it was queued. */
async function campaign(environmentId: number, topicId: string, number: number): Promise<string> {
  const [row] = await database.query<{ id: string }>(
    `insert into messaging.campaigns (id, environment_id, campaign_key, name, subject, content_text, status, topic_ids, segment_ids,
       queued_at, audience_at, created_at, updated_at)
     values (platform.new_id(), $1, 'BENCH-' || $3, 'News', 'News', 'News. {{ links.unsubscribe }}', 'QUEUED_FOR_SENDING',
       array[$2::uuid], '{}', now(), now(), now(), now()) returning id`,
    [environmentId, topicId, number],
  );
  return row?.id ?? '';
}

/** Rows a second into the empty table; throws when not everybody is in it. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  await database.query('truncate messaging.deliveries');
  await database.query('checkpoint');
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1_000;
  const [row] = await database.query<{ n: number }>('select count(*)::int as n from messaging.deliveries');
  if (row?.n !== ROWS) throw new Error(`${row?.n} of ${ROWS} recipients were written down.`);
  return ROWS / seconds;
}

function insertAll(environmentId: number, campaignId: string, topicId: string): Promise<unknown> {
  return database.query(
    `insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key,
       message_id, state, next_attempt_at, created_at)
     select n.id, current_date, $1, 'CAMPAIGN', $2, s.id, s.email, s.email_key, '<' || n.id || '@bench.example>', 'PENDING',
       now(), now()
     from audience.subscribers s
     join audience.consents c on c.subscriber_id = s.id and c.topic_id = $3 and c.status = 'SUBSCRIBED'
     cross join lateral (select platform.new_id() as id where s.id is not null) n
     where s.environment_id = $1 and s.status = 'ACTIVE'`,
    [environmentId, campaignId, topicId],
  );
}
