import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { startRedis, type TestRedis } from '#testing/programs/redis';
import { type RunningSystem, startSystem, type SystemProject } from '#testing/programs/system';
import { WebhookReceiver } from '#testing/servers/webhook-receiver';

const consent = { source: 'signup-form' };

describe('programs that lose every wake-up', () => {
  let redis: TestRedis;
  let system: RunningSystem;
  let project: SystemProject;
  let client: ApiClient;
  let receiver: WebhookReceiver;
  let topic: { readonly id: string; readonly topicKey: string };

  beforeAll(async () => {
    redis = await startRedis();
    const operator = new Redis(redis.url);
    await operator.call('ACL', 'SETUSER', 'default', '-publish');
    await expect(operator.publish('mailwright:wake:mailwright_jobs', '')).rejects.toThrow('NOPERM');
    operator.disconnect();
    system = await startSystem({ REDIS_URL: redis.url, OUTGOING_PRIVATE_ADDRESSES: 'true' });
    receiver = await WebhookReceiver.ofEvents();
    project = await system.project();
    client = await project.client('TEST');
    const news = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    topic = { id: news.at('id'), topicKey: news.at('topicKey') };
  });

  afterAll(async () => {
    receiver?.close();
    await system?.stop();
    await redis?.stop();
  });

  const subscribe = (email: string, topicKey: string) =>
    client.post('/subscribers', { email, topicKeys: [topicKey], consent });
  const mailTo = (email: string) =>
    eventually(`a mail to ${email}`, async () => {
      const mails = await client.get(`/test-inbox/messages?to=${email}`);
      return mails.at<{ links: { confirm: string } }[]>('data')[0] ?? null;
    });

  it('still ask for a consent’s confirmation', async () => {
    const offers = await client.post('/topics', { name: 'Offers', doubleOptInEnabled: true });
    await subscribe('grace@example.com', offers.at('topicKey'));
    const { links } = await mailTo('grace@example.com');
    expect((await fetch(links.confirm, { method: 'POST' })).status).toBe(200);
  });

  it('still run an automation that waits for new subscribers', async () => {
    const automation = await client.post('/automations', {
      name: 'Welcome',
      triggerType: 'subscriber_joins_list',
      triggerTopicId: topic.id,
    });
    const contentJson = JSON.stringify({ blocks: [{ type: 'text', html: '<p>Hello!</p>' }] });
    await client.patch(`/automations/${automation.at('id')}/content`, {
      nodes: JSON.stringify([
        { id: 'start', type: 'trigger', config: {} },
        { id: 'mail', type: 'email', config: { subject: 'Hello', contentJson } },
      ]),
      edges: JSON.stringify([{ id: 'edge', source: 'start', target: 'mail' }]),
    });
    expect((await client.post(`/automations/${automation.at('id')}/activate`)).status).toBe(200);
    await subscribe('ada@example.com', topic.topicKey);
    await mailTo('ada@example.com');
  });

  it('still send a campaign, let its mailboxes open it, and tell a webhook and a report of that', async () => {
    const endpoint = ['--project', project.name, '--env', 'test', '--url', receiver.url];
    await runCliForJson(system.variables, ['webhook:create', ...endpoint]);
    await subscribe('opened@example.com', topic.topicKey);
    const campaign = await client.post('/campaigns', {
      name: 'Spring',
      subject: 'Spring',
      contentText: 'It is spring. {{ links.unsubscribe }}',
      topicIds: [topic.id],
    });
    const path = `/campaigns/${campaign.at('campaignKey')}`;
    expect((await client.post(`${path}/send`)).status).toBe(200);
    await eventually('it is sent', async () => (await client.get(path)).at('status') === 'SENT');
    await eventually('the webhook hears of the opening', () =>
      Promise.resolve(receiver.events.some(({ type }) => type === 'email.opened')),
    );
    const exported = await client.get(`${path}/report/export?rows=deliveries`);
    expect([exported.status, exported.text.includes('opened@example.com')]).toEqual([200, true]);
  });
});
