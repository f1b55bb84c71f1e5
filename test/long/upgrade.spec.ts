import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { newId, type ProjectScope } from '#kernel';
import { ApiClient } from '#testing/api-client';
import { openTestDatabase, type TestDatabase } from '#testing/database';
import { migrateTo } from '#testing/earlier-version';
import { eventually } from '#testing/eventually';
import { createProject } from '#testing/fixtures';
import { runCli } from '#testing/operator-cli';
import { type RawSmtpSink, startRawSmtpSink } from '#testing/raw-smtp-sink';
import { insertSubscribers } from '#testing/subscribers';
import { addKey, type RunningSystem, SECRETS, startSystemOn } from '#testing/system';

/** Before the delivery engine's eras, sending domains, bounces, plans with versions, credits, automations, webhooks. */
const EARLIER = '20261121090100_tracking';
const READERS = 30;
const SENT_BEFORE = 10;

interface TableSize {
  readonly name: string;
  readonly rows: number;
}

describe('a database of an earlier version, with a campaign that is half sent', () => {
  let database: TestDatabase;
  let sink: RawSmtpSink;
  let system: RunningSystem | undefined;
  let scope: ProjectScope;
  let coming: string[];
  let sizesBefore: TableSize[];
  const topicId = newId();
  const sentId = newId();
  const halfId = newId();

  beforeAll(async () => {
    database = await createEmptyDatabase();
    sink = await startRawSmtpSink();
    coming = await migrateTo(database.adminUrl, EARLIER);
    scope = (await createProject(database)).live;
    await fill();
    sizesBefore = await sizes();
  });

  afterAll(async () => {
    await Promise.all([system?.worker.stop(), system?.api.stop()]);
    await sink?.stop();
    await database?.drop();
  });

  const environment = () => ({
    DATABASE_URL: database.url,
    SMTP_URL: sink.url,
    REQUIRE_VERIFIED_DOMAIN: 'false',
    ...SECRETS,
  });

  async function fill(): Promise<void> {
    await database.query(
      `insert into billing.subscriptions (tenant_id, plan_tier, status, billing_interval, anchored_at, created_at, updated_at)
       values ($1, 'PRO', 'ACTIVE', 'MONTHLY', now() - interval '40 days', now(), now())`,
      [scope.tenantId],
    );
    await database.query(
      `insert into audience.topics (id, environment_id, topic_key, name, status, double_opt_in_enabled, created_at, updated_at)
       values ($1, $2, 'APIT-1', 'News', 'ACTIVE', false, now(), now())`,
      [topicId, scope.environmentId],
    );
    await insertSubscribers(database, scope, topicId, READERS);
    await insertCampaign(sentId, 'APIT-001', 'SENT');
    await insertCampaign(halfId, 'APIT-002', 'SENDING');
    await insertDeliveries(sentId, READERS);
    await insertDeliveries(halfId, SENT_BEFORE);
    await insertEvents();
    await countAsThatVersionDid();
    await database.query(
      `update audience.subscribers set status = 'UNSUBSCRIBED' where email = 'reader-1@example.com'`,
    );
    await database.query(
      `update audience.consents set status = 'UNSUBSCRIBED', revoked_at = now()
       where subscriber_id = (select id from audience.subscribers where email = 'reader-1@example.com')`,
    );
  }

  async function insertCampaign(id: string, key: string, status: string): Promise<void> {
    await database.query(
      `insert into messaging.campaigns (id, environment_id, campaign_key, name, subject, content_text, topic_ids, send_strategy,
         status, queued_at, audience_at, expanded_at, expanded_emails, completed_at, created_at, updated_at)
       values ($1, $2, $3, 'News', 'Hello {{ subscriber.first_name }}', 'Here is the news.', array[$4::uuid], 'IMMEDIATE',
         $5, now() - interval '1 hour', now() - interval '1 hour', now() - interval '1 hour', $6,
         case when $5 = 'SENT' then now() end, now() - interval '2 hours', now())`,
      [id, scope.environmentId, key, topicId, status, READERS],
    );
  }

  /** One for each reader; the first `sent` are sent. */
  async function insertDeliveries(campaignId: string, sent: number): Promise<void> {
    await database.query(
      `insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key,
         message_id, state, next_attempt_at, sent_at, created_at, finished_at)
       select platform.new_id(), (c.queued_at at time zone 'UTC')::date, c.environment_id, 'CAMPAIGN', c.id, s.id, s.email,
         s.email_key, '<' || $1 || '-' || s.subscriber_key || '@example.com>',
         case when s.n <= $2 then 'SENT' else 'PENDING' end, now(),
         case when s.n <= $2 then c.queued_at + interval '1 minute' end, now(), case when s.n <= $2 then now() end
       from messaging.campaigns c, (select *, split_part(subscriber_key, '-', 2)::int as n from audience.subscribers) s
       where c.id = $1::uuid`,
      [campaignId, sent],
    );
  }

  /** Of the sent campaign: five opened, two of them clicked, one bounced, one left. */
  async function insertEvents(): Promise<void> {
    await database.query(
      `insert into messaging.delivery_events (id, occurred_at, environment_id, campaign_id, delivery_id, subscriber_id, type,
         link_number, bounce_type)
       select platform.new_id(), d.sent_at + interval '5 minutes', d.environment_id, d.source_id, d.id, d.subscriber_id, e.type,
         case e.type when 'CLICKED' then 1 end, case e.type when 'BOUNCED' then 'HARD' end
       from (values ('OPENED', 1, 5), ('CLICKED', 1, 2), ('BOUNCED', 30, 30), ('UNSUBSCRIBED', 1, 1)) e(type, first, last)
       join messaging.deliveries d on d.source_id = $1
       where split_part(split_part(d.address, '@', 1), '-', 2)::int between e.first and e.last`,
      [sentId],
    );
    await database.query(
      `insert into messaging.link_sets (environment_id, campaign_id, queued_on, urls, signature, created_at)
       select environment_id, id, (queued_at at time zone 'UTC')::date, array['https://example.com/'], 'signed', now()
       from messaging.campaigns where id = $1`,
      [sentId],
    );
    await database.query(
      `update messaging.deliveries d set bounced_at = e.occurred_at, bounce_type = 'HARD'
       from messaging.delivery_events e where e.type = 'BOUNCED' and e.delivery_id = d.id`,
    );
  }

  async function countAsThatVersionDid(): Promise<void> {
    await database.query(
      `insert into messaging.campaign_counters (campaign_id, writer, environment_id, sent, hard_bounced, opened, unique_opens,
         clicked, unique_clicks, unsubscribed, first_sent_at, last_sent_at, last_event_at)
       values ($1, 7, $3, ${READERS}, 1, 7, 5, 2, 2, 1, now() - interval '59 minutes', now() - interval '59 minutes', now()),
         ($2, 7, $3, ${SENT_BEFORE}, 0, 0, 0, 0, 0, 0, now() - interval '59 minutes', now() - interval '59 minutes', null)`,
      [sentId, halfId, scope.environmentId],
    );
    await database.query(
      `insert into messaging.campaign_minutes (campaign_id, minute, writer, environment_id, sent, delivered)
       select source_id, date_trunc('minute', sent_at), 7, environment_id, count(*), count(*) filter (where bounced_at is null)
       from messaging.deliveries where state = 'SENT' group by 1, 2, environment_id`,
    );
    await database.query(
      `insert into messaging.campaign_minutes (campaign_id, minute, writer, environment_id, opened, clicked, bounced)
       select campaign_id, date_trunc('minute', occurred_at), 7, environment_id, count(*) filter (where type in ('OPENED', 'CLICKED')),
         count(*) filter (where type = 'CLICKED'), count(*) filter (where type = 'BOUNCED')
       from messaging.delivery_events group by 1, 2, environment_id`,
    );
  }

  /** Rows of every table of ours, without partitions; the sum of what each holds. */
  async function sizes(): Promise<TableSize[]> {
    const tables = await database.query<{ name: string }>(
      `select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p') and not c.relispartition
         and n.nspname in ('access', 'audience', 'messaging', 'billing', 'platform') order by 1`,
    );
    return Promise.all(
      tables.map(async ({ name }) => {
        const [row] = await database.query<{ rows: number }>(`select count(*)::int as rows from ${name}`);
        return { name, rows: row?.rows ?? 0 };
      }),
    );
  }

  it('is brought to this version without losing a row', async () => {
    const { exitCode, stdout, stderr } = await runCli(environment(), ['migrate', '--json']);
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(coming.filter((name) => !stdout.includes(name))).toEqual([]);
    const after = new Map((await sizes()).map(({ name, rows }) => [name, rows]));
    expect(sizesBefore.filter(({ name, rows }) => (after.get(name) ?? 0) < rows)).toEqual([]);
  });

  it('has counters that are right', async () => {
    for (const command of ['check:counters', 'check:statistics', 'check:credits', 'check:automations']) {
      const { exitCode, stdout, stderr } = await runCli(environment(), [command]);
      expect([command, exitCode, stdout + stderr]).toEqual([command, 0, stdout]);
    }
  });

  it('is worked on by the api and the worker, which send the rest of the campaign', async () => {
    system = await startSystemOn(database, environment());
    const client = new ApiClient(system.baseUrl, await addKey(database, scope));
    expect((await client.get('/subscribers?size=1')).at('pagination', 'totalElements')).toBe(READERS);
    expect((await client.get('/topics/APIT-1')).at('activeSubscriberCount')).toBe(READERS - 1);
    expect((await client.get('/billing/subscription')).at('planTier')).toBe('PRO');
    const statistics = await client.get('/campaigns/APIT-001/report/statistics');
    expect(statistics.body).toMatchObject({ uniqueOpens: 5, uniqueClicks: 2 });
    await eventually(
      'the other campaign is sent',
      async () => (await client.get('/campaigns/APIT-002')).at('status') === 'SENT',
    );
    // The first reader has left meanwhile, and had the mail before.
    expect(sink.count()).toBe(READERS - SENT_BEFORE);
    const states = await database.query(
      `select state, count(*)::int as n from messaging.deliveries where source_id = $1 group by state`,
      [halfId],
    );
    expect(states).toEqual([{ state: 'SENT', n: READERS }]);
    const check = await runCli(environment(), ['check:statistics']);
    expect([check.exitCode, check.stdout + check.stderr]).toEqual([0, expect.anything()]);
  });
});

async function createEmptyDatabase(): Promise<TestDatabase> {
  const server = process.env['MAILWRIGHT_TEST_POSTGRES'] ?? '';
  const name = `test_upgrade_${randomBytes(6).toString('hex')}`;
  const onServer = async (statement: string) => {
    const client = new pg.Client({ connectionString: `${server}/postgres` });
    await client.connect();
    try {
      await client.query(statement);
    } finally {
      await client.end();
    }
  };
  await onServer(`create database ${name}`);
  return openTestDatabase(`${server}/${name}`, () => onServer(`drop database ${name} with (force)`));
}
