import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/api-client';
import { type DnsServer, startDnsServer } from '#testing/dns-server';
import { eventually } from '#testing/eventually';
import { startProgram } from '#testing/program';
import { publishRecords, type RecordToPublish } from '#testing/published-records';
import { insertSubscribers } from '#testing/subscribers';
import { type RunningSystem, startSystem, type SystemProject } from '#testing/system';

/** Rows of the import in whose middle the worker is killed: a few batches of them. */
const ROWS = Number(process.env['IMPORT_KILL_ROWS'] ?? (process.env['FULL'] === undefined ? 6_000 : 20_000));
/** Of a killed worker on its job: then another may go on. */
const LEASE_MS = 30_000;
const HOUR_MS = 3_600_000;

describe('a worker that comes back after it was away', () => {
  let dns: DnsServer;
  let system: RunningSystem;
  let project: SystemProject;
  let client: ApiClient;
  let topic: ApiAnswer;

  beforeAll(async () => {
    dns = await startDnsServer();
    system = await startSystem({ DNS_SERVERS: dns.address });
    project = await system.project();
    client = await project.client('TEST');
    topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    await insertSubscribers(system.database, project.test, topic.at('id'), 3);
  });

  afterAll(async () => {
    await system?.stop();
    await dns?.stop();
  });

  async function scheduled(inMs: number): Promise<{ key: string; scheduledAt: string }> {
    const scheduledAt = new Date(Date.now() + inMs).toISOString();
    const content = { name: 'News', subject: 'Hello', contentText: 'Here is the news.' };
    const draft = { ...content, topicIds: [topic.at('id')], sendStrategy: 'SCHEDULED', scheduledAt };
    const key: string = (await client.post('/campaigns', draft)).at('campaignKey');
    const answer = await client.post(`/campaigns/${key}/schedule`);
    expect([answer.status, answer.at('status')]).toEqual([200, 'SCHEDULED']);
    return { key, scheduledAt };
  }

  const sent = (key: string): Promise<ApiAnswer> =>
    eventually(`${key} is sent`, async () => {
      const campaign = await client.get(`/campaigns/${key}`);
      return campaign.at('status') === 'SENT' ? campaign : null;
    });

  it('finishes an import in whose middle another was killed, every row once', async () => {
    const old = await client.post('/topics', { name: 'Old', doubleOptInEnabled: false });
    const importCsv = async (emails: readonly string[], more = '') => {
      const query = `topicKeys=${old.at('topicKey')}&consent.source=old-system${more}`;
      const csv = { headers: { 'content-type': 'text/csv' } };
      const started = await client.post(`/subscriber-imports?${query}`, `email\n${emails.join('\n')}`, csv);
      return started.at('id');
    };
    const doubleOptIn: string = (await client.post('/topics', { name: 'Offers' })).at('topicKey');
    const there = Array.from({ length: 50 }, (_, index) => `there-${index}@example.com`);
    await importCsv(there);
    const rows = Array.from({ length: ROWS }, (_, index) => {
      if (index % 100 === 1) return `faulty-${index}`;
      if (index % 100 === 2) return 'twice@example.com';
      return index < 50 ? `there-${index}@example.com` : `kill-${index}@example.com`;
    });
    // Statistics of a project that was small a moment ago: no plan may read all rows again for each.
    await system.database.query('analyze');
    const faulty = rows.filter((row) => row.startsWith('faulty')).length;
    const repeated = rows.filter((row) => row.startsWith('twice')).length - 1;
    const updated = rows.filter((row) => row.startsWith('there')).length;
    const path = `/subscriber-imports/${await importCsv(rows, `&topicKeys=${doubleOptIn}`)}`;
    const id = path.split('/').at(-1);
    await eventually(
      'a part is done',
      async () => (await client.get(path)).at<number>('counts', 'created') > 0,
    );
    await system.worker.kill();
    expect((await client.get(path)).at('status')).toBe('IN_PROGRESS');
    system.worker = await startProgram('worker', system.variables);
    await system.advanceClock(LEASE_MS);
    const created = ROWS - faulty - repeated - updated;
    const ended = await eventually('the import ends', async () => {
      const found = await client.get(path);
      return ['COMPLETED', 'FAILED'].includes(found.at('status')) ? found : null;
    });
    const counts = { total: ROWS, created, updated, skipped: repeated, failed: faulty };
    expect(ended.at('counts')).toEqual(counts);
    const errors = await client.get(`${path}/errors?size=1`);
    expect(errors.at('pagination', 'totalElements')).toBe(faulty + repeated);
    const [kept] = await system.database.query(
      `select (select count(*)::int from audience.subscribers where email_key ~ '^(kill|twice)') as people,
         (select count(*)::int from audience.consent_ledger where actor_id = $1) as recorded,
         (select count(*)::int from audience.confirmations f join audience.topics t on t.id = any(f.topic_ids) where t.topic_key = $2) as asked`,
      [id, doubleOptIn],
    );
    expect(kept).toEqual({
      people: created,
      recorded: 2 * created + updated,
      asked: created + updated,
    });
  });

  it('starts a scheduled campaign when its time has come', async () => {
    const { key, scheduledAt } = await scheduled(HOUR_MS);
    await system.advanceClock(HOUR_MS);
    expect((await sent(key)).at('completedAt')).toMatch(/Z$/);
    const inbox = await client.get('/test-inbox/messages?kind=CAMPAIGN&size=100');
    const received = inbox.at<{ receivedAt: string }[]>('data');
    expect(received).toHaveLength(3);
    for (const { receivedAt } of received)
      expect(Date.parse(receivedAt)).toBeGreaterThanOrEqual(Date.parse(scheduledAt));
  });

  it('does what waited for it: the check of a domain, and a campaign whose time passed, once for several workers', async () => {
    await system.worker.stop();
    await client.post('/sending-domain', { domainName: 'late.acme.example' });
    publishRecords(dns, (await client.get('/sending-domain')).at<RecordToPublish[]>('dnsRecords'));
    const refused = await client.post('/sending-domain/verify-dns');
    expect([refused.status, refused.at('type')]).toEqual([503, expect.stringMatching(/\/unavailable$/)]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const { key } = await scheduled(2 * HOUR_MS);
    await system.advanceClock(HOUR_MS);
    expect((await client.get(`/campaigns/${key}`)).at('status')).toBe('SCHEDULED');

    const [worker, other] = await Promise.all([
      startProgram('worker', system.variables),
      startProgram('worker', system.variables),
    ]);
    system.worker = worker;
    const campaign = await sent(key);
    await eventually(
      'the domain is active',
      async () => (await client.get('/sending-domain')).at('status') === 'ACTIVE',
    );
    await other.stop();
    const started = await system.database.query(
      `select from platform.inbox where handler = 'expand-campaign' and payload->>'campaignId' = $1`,
      [campaign.at('id')],
    );
    expect(started).toHaveLength(1);
    const deliveries = await client.get(`/campaigns/${key}/deliveries?size=1`);
    expect(deliveries.at('pagination', 'totalElements')).toBe(3);
  });
});
