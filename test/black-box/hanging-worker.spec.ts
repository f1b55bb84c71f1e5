import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '../support/api-client.js';
import { eventually } from '../support/eventually.js';
import { startProgram } from '../support/program.js';
import { startSmtpSink } from '../support/smtp-sink.js';
import { insertSubscribers } from '../support/subscribers.js';
import { type RunningSystem, startSystem } from '../support/system.js';

const CONNECTIONS = 3;
const RECIPIENTS = 600;
/** A stopped sender's leases run out after 20 s, and its open transaction's locks after a minute. */
const TAKEN_OVER_MS = 100_000;

describe('a worker that hangs', () => {
  let sink: Awaited<ReturnType<typeof startSmtpSink>>;
  let system: RunningSystem;
  let client: ApiClient;
  let topicId: string;

  beforeAll(async () => {
    sink = await startSmtpSink({ keep: 'index' });
    system = await startSystem({
      SMTP_URL: sink.url,
      SMTP_CONNECTIONS: String(CONNECTIONS),
      REQUIRE_VERIFIED_DOMAIN: 'false',
    });
    const project = await system.project();
    client = await project.client('LIVE');
    topicId = (await client.post('/topics', { name: 'News', doubleOptInEnabled: false })).at('id');
    await insertSubscribers(system.database, project.live, topicId, RECIPIENTS);
  });

  afterAll(async () => {
    await system?.stop();
    await sink?.stop();
  });

  const everyDelivery = () =>
    system.database.query('select d.*, d.xmin::text as version from messaging.deliveries d order by d.id');

  it('has its campaign taken from it, and writes nothing when it wakes', async () => {
    const campaign = await client.post('/campaigns', {
      name: 'News',
      subject: 'Hello {{ subscriber.first_name }}',
      contentText: 'Hello {{ subscriber.first_name }}, here is the news.',
      topicIds: [topicId],
    });
    const key = campaign.at('campaignKey');
    expect((await client.post(`/campaigns/${key}/send`)).status).toBe(200);
    await eventually('some are sent', () => sink.count() > RECIPIENTS * 0.1);
    process.kill(system.worker.pid, 'SIGSTOP');
    const hanging = system.worker;
    system.worker = await startProgram('worker', system.variables);
    await eventually(
      'the campaign is sent',
      async () => (await client.get(`/campaigns/${key}`)).at('status') === 'SENT',
      TAKEN_OVER_MS,
    );
    const before = await everyDelivery();
    process.kill(hanging.pid, 'SIGCONT');
    // It ends the conversations that it was in, records nothing, hands nothing back, and stops.
    expect(await hanging.stop()).toBe(0);
    expect(await everyDelivery()).toEqual(before);
    const mails = Map.groupBy(sink.messages, ({ messageId }) => messageId);
    expect(mails.size).toBe(RECIPIENTS);
    const repeated = [...mails].flatMap(([messageId, { length }]) => (length > 1 ? [messageId] : []));
    expect(sink.count() - RECIPIENTS).toBeLessThanOrEqual(CONNECTIONS);
    const marked = before.filter((row) => row['possible_duplicate'] === true).map((row) => row['message_id']);
    expect(marked).toEqual(expect.arrayContaining(repeated));
  }, 150_000);
});
