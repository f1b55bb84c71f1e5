import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ApiClient } from '#testing/http/api-client';
import { openTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { type DnsServer, startDnsServer } from '#testing/mail/dns-server';
import { eventually } from '#testing/time/eventually';
import { freeze, thaw } from '#testing/postgres/frozen-database';
import { runCli } from '#testing/programs/operator-cli';
import { publishRecords, type RecordToPublish } from '#testing/mail/published-records';
import { type RawSmtpSink, startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import { type RunningSystem, SECRETS, startSystemOn } from '#testing/programs/system';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { KEY, livedInInstallation, READERS, variablesWith } from './upgrade/installation.fixture.js';

/** `npm run freeze` makes it anew. */
const FROZEN = join(projectRoot(), 'test/long/upgrade/baseline-0.2.0.sql');

/** Tables that were renamed. */
const MOVED: Readonly<Record<string, string>> = { 'platform.inbox': 'platform.jobs' };

interface TableSize {
  readonly name: string;
  readonly rows: number;
}

describe('the database of version 0.2.0, with a campaign that is half sent', () => {
  let database: TestDatabase;
  let sink: RawSmtpSink;
  let dns: DnsServer;
  let system: RunningSystem | undefined;
  let client: ApiClient;
  let coming: string[];
  let sizesBefore: TableSize[];
  let sentBefore: number;

  beforeAll(async () => {
    sink = await startRawSmtpSink();
    dns = await startDnsServer();
    if (process.env['FREEZE'] !== undefined) await makeFrozen();
    database = await createEmptyDatabase();
    coming = await thaw(database.adminUrl, await readFile(FROZEN, 'utf8'));
    await suppressSome();
    sizesBefore = await sizes();
    sentBefore = await sentOf('APIT-002');
    await publishAgain();
  });

  afterAll(async () => {
    await Promise.all([system?.worker.stop(), system?.api.stop()]);
    await sink?.stop();
    await dns?.stop();
    await database?.drop();
  });

  const environment = () => ({ DATABASE_URL: database.url, ...variablesWith(sink, dns), ...SECRETS });

  async function makeFrozen(): Promise<void> {
    const installation = await livedInInstallation(sink, dns);
    await writeFile(FROZEN, await freeze(installation.database));
    await installation.database.drop();
    sink.clear();
  }

  /** Addresses suppressed by that version for each of its reasons, erased or not. */
  async function suppressSome(): Promise<void> {
    await database.query(
      `with reasons as (select unnest(array['GLOBAL_UNSUBSCRIBE', 'SPAM_COMPLAINT', 'HARD_BOUNCE']) as reason), known as (
         insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at)
         select 1, lower(reason) || '@gone.example', lower(reason) || '@gone.example', reason, now() from reasons
       )
       insert into audience.erased_suppressions (environment_id, address_digest, reason, suppressed_at, erased_at)
       select 1, sha256(convert_to(reason, 'utf8')), reason, now(), now() from reasons`,
    );
  }

  /** The owner of the domain has left its records where they are. */
  async function publishAgain(): Promise<void> {
    const records = await database.query<RecordToPublish & object>(
      `select record_type as "recordType", host, expected_value as "expectedValue" from deliverability.dns_records`,
    );
    publishRecords(dns, records);
  }

  async function sentOf(campaignKey: string): Promise<number> {
    const [row] = await database.query<{ sent: number }>(
      `select count(*)::int as sent from messaging.deliveries d join messaging.campaigns c on c.id = d.source_id
       where c.campaign_key = $1 and d.state = 'SENT'`,
      [campaignKey],
    );
    return row?.sent ?? 0;
  }

  /** Rows of every table of ours, without partitions; the sum of what each holds. */
  async function sizes(): Promise<TableSize[]> {
    const tables = await database.query<{ name: string }>(
      `select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p') and not c.relispartition
         and n.nspname in ('access', 'audience', 'messaging', 'billing', 'platform', 'deliverability', 'webhooks') order by 1`,
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
    expect(JSON.parse(stdout)).toEqual({ applied: coming });
    const after = new Map((await sizes()).map(({ name, rows }) => [name, rows]));
    expect(sizesBefore.filter(({ name, rows }) => (after.get(MOVED[name] ?? name) ?? 0) < rows)).toEqual([]);
  });

  it('bars the streams of their reasons for who was suppressed before', async () => {
    const streams = (table: string) =>
      database.query(`select reason, streams from audience.${table} group by 1, 2 order by 1`);
    const byReason = [
      { reason: 'GLOBAL_UNSUBSCRIBE', streams: 'MARKETING' },
      { reason: 'HARD_BOUNCE', streams: 'ALL' },
      { reason: 'SPAM_COMPLAINT', streams: 'MARKETING' },
    ];
    expect(await streams('suppressions')).toEqual(byReason);
    expect(await streams('erased_suppressions')).toEqual(byReason);
  });

  it('makes jobs of the events that an api of that version still writes', async () => {
    await database.query(
      `insert into platform.outbox (id, environment_id, event_name, payload)
       values (gen_random_uuid(), 1, 'access.tracking_host_check_requested.v1', '{"host": "none.example"}')`,
    );
    expect(
      await database.query(
        `select name, queue, state from platform.jobs where payload->>'host' = 'none.example'
         union all select event_name, null, null from platform.outbox`,
      ),
    ).toEqual([{ name: 'tracking_hosts.check', queue: 'dns', state: 'PENDING' }]);
  });

  it('has counters that are right', async () => {
    for (const command of ['check:counters', 'check:statistics', 'check:credits', 'check:automations']) {
      const { exitCode, stdout, stderr } = await runCli(environment(), [command]);
      expect([command, exitCode, stdout + stderr]).toEqual([command, 0, stdout]);
    }
  });

  it('is worked on by the api and the worker, which send the rest of the campaign, to nobody twice', async () => {
    expect(sentBefore).toBeGreaterThan(0);
    expect(sentBefore).toBeLessThan(READERS - 1);
    system = await startSystemOn(database, environment());
    client = new ApiClient(system.baseUrl, KEY);
    expect((await client.get('/subscribers?size=1')).at('pagination', 'totalElements')).toBe(READERS + 1);
    expect((await client.get('/topics/APIT-1')).at('activeSubscriberCount')).toBe(READERS - 1);
    const statistics = await client.get('/campaigns/APIT-001/report/statistics');
    expect(statistics.body).toMatchObject({ uniqueOpens: 5, uniqueClicks: 2 });
    await eventually(
      'the other campaign is sent',
      async () => (await client.get('/campaigns/APIT-002')).at('status') === 'SENT',
    );
    // The first reader left between the two campaigns.
    expect(sink.count()).toBe(READERS - 1 - sentBefore);
    expect(new Set(sink.messages.map(({ to }) => to[0])).size).toBe(sink.count());
    const states = await database.query(
      `select d.state, count(*)::int as n from messaging.deliveries d join messaging.campaigns c on c.id = d.source_id
       where c.campaign_key = 'APIT-002' group by d.state`,
    );
    expect(states).toEqual([{ state: 'SENT', n: READERS - 1 }]);
    const check = await runCli(environment(), ['check:statistics']);
    expect([check.exitCode, check.stdout + check.stderr]).toEqual([0, expect.anything()]);
  });

  it('keeps its plan, its invoice and its domain, whose key still signs', async () => {
    expect((await client.get('/billing/subscription')).at('planTier')).toBe('STANDARD');
    expect((await client.get('/billing/invoices')).at('data')).toMatchObject([{ status: 'OPEN' }]);
    expect((await client.get('/sending-domain')).body).toMatchObject({
      status: 'ACTIVE',
      sendingAllowed: true,
    });
    const [{ raw } = { raw: Buffer.of() }] = sink.messages;
    expect(raw.toString()).toMatch(/^DKIM-Signature: [^]*? d=news\.acme\.example;/m);
  });

  it('takes who waited in an automation to its end', async () => {
    sink.clear();
    // The three days are over.
    await database.query('update messaging.automation_runs set wake_at = now() where is_waiting');
    await eventually('the second mail came', () => sink.count() > 0);
    expect(sink.messages.map(({ to }) => to)).toEqual([['ada@example.com']]);
    await eventually('the run is over', async () => {
      const runs = await database.query<{ status: string }>('select status from messaging.automation_runs');
      return runs.length === 1 && runs[0]?.status === 'COMPLETED';
    });
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
