import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '../support/api-client.js';
import { eventually } from '../support/eventually.js';
import { startProgram } from '../support/program.js';
import { startSmtpSink } from '../support/smtp-sink.js';
import { insertSubscribers } from '../support/subscribers.js';
import { type RunningSystem, startSystem, type SystemProject } from '../support/system.js';

const RECIPIENTS = 2_000;
const CONNECTIONS = 5;
/** A killed sender's leases run out after 20 s; then the new one goes on. */
const DEADLINE_MS = 50_000;

describe('a worker that is killed in the middle of a campaign', () => {
  let sink: Awaited<ReturnType<typeof startSmtpSink>>;
  let system: RunningSystem;
  let project: SystemProject;
  let client: ApiClient;

  beforeAll(async () => {
    sink = await startSmtpSink({ keep: 'index' });
    system = await startSystem({
      SMTP_URL: sink.url,
      SMTP_CONNECTIONS: String(CONNECTIONS),
      REQUIRE_VERIFIED_DOMAIN: 'false',
    });
    project = await system.project();
    client = await project.client('LIVE');
  });

  afterAll(async () => {
    await system?.stop();
    await sink?.stop();
  });

  it('loses nobody, and repeats at most what was on its connections', async () => {
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    await insertSubscribers(system.database, project.live, topic.at('id'), RECIPIENTS);
    const campaign = await client.post('/campaigns', {
      name: 'News',
      subject: 'Hello {{ subscriber.first_name }}',
      contentText: 'Hello {{ subscriber.first_name }}, here is the news.',
      topicIds: [topic.at('id')],
    });
    const key = campaign.at('campaignKey');
    expect((await client.post(`/campaigns/${key}/send`)).status).toBe(200);

    await eventually('a third is sent', () => sink.count() > RECIPIENTS / 3);
    await system.worker.kill();
    const beforeRestart = sink.count();
    expect(beforeRestart).toBeLessThan(RECIPIENTS);
    system.worker = await startProgram('worker', system.variables);
    await eventually(
      'the campaign is sent',
      async () => (await client.get(`/campaigns/${key}`)).at('status') === 'SENT',
      DEADLINE_MS,
    );

    const receivedBy = new Set(sink.messages.flatMap(({ to }) => to));
    expect(receivedBy.size).toBe(RECIPIENTS);
    expect(sink.count() - RECIPIENTS).toBeLessThanOrEqual(CONNECTIONS);
    const states = await system.database.query<{ state: string; count: number }>(
      `select state, count(*)::int from messaging.deliveries group by state`,
    );
    expect(states).toEqual([{ state: 'SENT', count: RECIPIENTS }]);
    await everyRepeatIsMarked();
    const usage = await system.database.query<{ used: number; reserved: number }>(
      `select (u.used + coalesce(sum(s.used), 0))::int as used,
         (u.reserved - coalesce(sum(s.used + s.released), 0))::int as reserved
       from billing.email_usage u left join billing.email_settlements s using (tenant_id, period_start)
       group by u.used, u.reserved`,
    );
    expect(usage).toEqual([{ used: RECIPIENTS, reserved: 0 }]);
  });

  /** Whoever got the mail twice got the same Message-ID, and the delivery says that it may have happened. */
  async function everyRepeatIsMarked(): Promise<void> {
    const byMessage = Map.groupBy(sink.messages, ({ messageId }) => messageId);
    expect(byMessage.size).toBe(RECIPIENTS);
    const repeated = [...byMessage].flatMap(([messageId, mails]) => (mails.length > 1 ? [messageId] : []));
    const marked = await system.database.query<{ message_id: string }>(
      'select message_id from messaging.deliveries where possible_duplicate',
    );
    expect(marked.map(({ message_id }) => message_id)).toEqual(expect.arrayContaining(repeated));
    expect(marked.length).toBeLessThanOrEqual(CONNECTIONS);
  }
});
