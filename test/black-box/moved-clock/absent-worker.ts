import { beforeAll, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import type { DnsServer } from '#testing/mail/dns-server';
import { eventually } from '#testing/time/eventually';
import { startProgram } from '#testing/programs/program';
import { publishRecords, type RecordToPublish } from '#testing/mail/published-records';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import type { RunningSystem, SystemProject } from '#testing/programs/system';

const HOUR_MS = 3_600_000;

export function absentWorker(running: () => { system: RunningSystem; dns: DnsServer }): void {
  let dns: DnsServer;
  let system: RunningSystem;
  let project: SystemProject;
  let client: ApiClient;
  let topic: ApiAnswer;

  beforeAll(async () => {
    ({ system, dns } = running());
    project = await system.project();
    client = await project.client('TEST');
    topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    await insertSubscribers(system.database, project.test, topic.at('id'), 3);
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
    const asked = client.post('/sending-domain/verify-dns');
    await eventually('the check is requested', async () => {
      const requests = await system.database.query('select from deliverability.domain_checks');
      return requests.length > 0;
    });
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
    await asked;
    await other.stop();
    const started = await system.database.query(
      `select from platform.jobs where name = 'campaigns.expand' and payload->>'campaignId' = $1`,
      [campaign.at('id')],
    );
    expect(started).toHaveLength(1);
    const deliveries = await client.get(`/campaigns/${key}/deliveries?size=1`);
    expect(deliveries.at('pagination', 'totalElements')).toBe(3);
  });
}
