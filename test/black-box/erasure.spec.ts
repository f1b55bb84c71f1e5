import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/api-client';
import { eventually } from '#testing/eventually';
import { runCli, runCliForJson } from '#testing/operator-cli';
import { type RunningSystem, SECRETS, startSystem } from '#testing/system';
import { tracesOf } from '#testing/traces';

const ADA = 'ada.lovelace@example.com';
const consent = { source: 'signup-form', ipAddress: '203.0.113.77', userAgent: 'Analytical Engine/1' };

describe('a person of whom much is known', () => {
  let system: RunningSystem;
  let client: ApiClient;
  let variables: Record<string, string>;
  let projectName: string;
  /** A receiver of webhooks that answers with what it was told, and takes none. */
  let receiver: Server;
  const links = { unsubscribe: '', preferences: '' };

  beforeAll(async () => {
    const reach = { OUTGOING_PRIVATE_ADDRESSES: 'true' };
    system = await startSystem(reach);
    const project = await system.project();
    client = await project.client('TEST');
    variables = { DATABASE_URL: system.variables['DATABASE_URL'] ?? '', ...SECRETS, ...reach };
    const [tenant] = await system.database.query<{ tenant_key: string }>(
      'select tenant_key from access.tenants where id = $1',
      [project.live.tenantId],
    );
    projectName = `${tenant?.tenant_key}/${project.projectKey}`;
    receiver = createServer((request, response) => request.pipe(response.writeHead(500)));
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    const { port } = receiver.address() as AddressInfo;
    const environment = ['--project', projectName, '--env', 'test'];
    await runCliForJson(variables, ['webhook:create', ...environment, '--url', `http://127.0.0.1:${port}/`]);
    await getToKnowAda();
  });

  afterAll(async () => {
    await system?.stop();
    receiver?.close();
  });

  const of = (email: string) => ['--project', projectName, '--env', 'test', '--email', email];
  const traces = () => tracesOf(system.database, 'lovelace', '203.0.113.77', 'Analytical Engine');

  /** Lets her subscribe, be asked to confirm, get a campaign and leave a topic by its link. */
  async function getToKnowAda(): Promise<void> {
    const news = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    const offers = await client.post('/topics', { name: 'Offers', doubleOptInEnabled: true });
    const topicKeys = [news.at('topicKey'), offers.at('topicKey')];
    for (const person of [
      { email: ADA, lastName: 'Lovelace', consent },
      { email: 'grace@example.com', lastName: 'Hopper', consent: { source: 'signup-form' } },
    ]) {
      expect((await client.post('/subscribers', { ...person, topicKeys })).status).toBe(201);
    }
    await client.post(`/subscribers/${ADA}/events`, {
      name: 'order.completed',
      properties: { for: 'Lovelace' },
    });
    const campaign = await client.post('/campaigns', {
      name: 'Spring',
      subject: 'For {{ subscriber.last_name }}',
      contentText: 'Hello {{ subscriber.last_name }}, {{ links.unsubscribe }}',
      topicIds: [news.at('id')],
    });
    expect((await client.post(`/campaigns/${campaign.at('campaignKey')}/send`)).status).toBe(200);
    const inbox = await eventually('the campaign and the confirmation', async () => {
      const mails = await client.get(`/test-inbox/messages?to=${ADA}`);
      return mails.at<unknown[]>('data').length === 2 ? mails : null;
    });
    const mail = inbox
      .at<{ kind: string; links: typeof links }[]>('data')
      .find(({ kind }) => kind === 'CAMPAIGN');
    Object.assign(links, mail?.links);
    const preferences = await fetch(links.preferences, {
      method: 'POST',
      body: new URLSearchParams({ leave: topicKeys[0] ?? '' }),
    });
    expect(preferences.status).toBe(200);
    await fetch(links.unsubscribe, { method: 'POST' });
    await eventually('the campaign is sent', async () => (await statistics())['completedAt'] !== null);
  }

  const statistics = async () =>
    (await client.get('/campaigns/APIT-001/report/statistics')).body as Record<string, unknown>;

  it('is shown all of it by subscriber:export', async () => {
    const data = await runCliForJson(variables, ['subscriber:export', ...of('ADA.lovelace@example.com')]);
    expect(data).toMatchObject({
      subscriber: { email: ADA, lastName: 'Lovelace', status: 'PENDING_CONFIRMATION', customFields: {} },
      suppression: { email: expect.any(String), suppressed: false },
      consents: [
        { topicName: 'News', status: 'UNSUBSCRIBED' },
        { topicName: 'Offers', status: 'PENDING_CONFIRMATION' },
      ],
      confirmations: [{ topicKeys: ['APIT-2'] }],
      events: [{ name: 'order.completed', properties: { for: 'Lovelace' } }],
      importErrors: [],
    });
    const record = data['consentRecord'] as {
      topicName: string;
      to: string;
      actor: string;
      ipAddress: string;
    }[];
    expect(record.filter(({ topicName }) => topicName === 'News')).toEqual([
      expect.objectContaining({
        to: 'SUBSCRIBED',
        actor: 'API_KEY',
        source: 'signup-form',
        ...pick(consent),
      }),
      expect.objectContaining({ from: 'SUBSCRIBED', to: 'UNSUBSCRIBED', actor: 'SUBSCRIBER_PAGE' }),
    ]);
    const deliveries = data['deliveries'] as { kind: string; address: string; state: string }[];
    expect(deliveries.map(({ kind, address, state }) => `${kind} ${address} ${state}`).sort()).toEqual([
      `CAMPAIGN ${ADA} SENT`,
      `OPT_IN ${ADA} SENT`,
    ]);
    expect(data['deliveryEvents']).toEqual([expect.objectContaining({ type: 'UNSUBSCRIBED' })]);
    expect((data['testInbox'] as { subject: string }[]).map(({ subject }) => subject)).toContain(
      'For Lovelace',
    );
  });

  it('is not erased by an operator who has not said that it is meant', async () => {
    const refused = await runCli(variables, ['subscriber:erase', ...of(ADA)]);
    expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect((await client.get(`/subscribers/${ADA}`)).status).toBe(200);
    const unknown = await runCli(variables, [
      'subscriber:erase',
      ...of('nobody@example.com'),
      '--yes',
      '--json',
    ]);
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('unknown-subscriber')]);
    const malformed = await runCli(variables, ['subscriber:erase', ...of('nobody'), '--yes']);
    expect([malformed.exitCode, malformed.stderr]).toEqual([2, expect.stringContaining('--email is not an')]);
  });

  it('is erased from every table within seconds, and the numbers stay', async () => {
    const before = await statistics();
    const file = await client.get(`/campaigns/APIT-001/report/export?rows=deliveries`);
    expect(file.text).toContain(ADA);
    await eventually('the receiver’s answers are in the log', async () =>
      (await traces()).includes('webhooks.attempts'),
    );
    expect(await traces()).toEqual(expect.arrayContaining(['messaging.export_parts', 'webhooks.events']));
    expect((await client.delete(`/subscribers/${ADA}`)).status).toBe(204);
    await eventually('nothing is left', async () => (await traces()).length === 0);
    expect(await statistics()).toEqual(before);
    expect(
      (await client.get('/test-inbox/messages')).at<{ to: string }[]>('data').map(({ to }) => to),
    ).toEqual(['grace@example.com', 'grace@example.com']);
    const nothing = await runCli(variables, ['subscriber:export', ...of(ADA)]);
    expect([nothing.exitCode, nothing.stdout]).toEqual([1, '']);
  });

  it('is met by the links of old mails with a page that tells nothing, and leaves no trace by them', async () => {
    expect((await fetch(links.preferences)).status).toBe(404);
    const page = await fetch(links.unsubscribe);
    expect([page.status, (await page.text()).includes('example.com')]).toEqual([200, false]);
    const form = new URLSearchParams({ scope: 'everything' });
    expect((await fetch(links.unsubscribe, { method: 'POST', body: form })).status).toBe(200);
    expect((await client.get('/suppressions')).at('pagination', 'totalElements')).toBe(0);
    expect(await traces()).toEqual([]);
  });

  it('is erased by the operator as by the API, suppressed addresses by their hash alone', async () => {
    await client.post('/suppressions', { email: 'grace@example.com' });
    const erased = await runCliForJson(variables, ['subscriber:erase', ...of('grace@example.com'), '--yes']);
    expect(erased).toEqual({ erased: true });
    await eventually(
      'nothing is left',
      async () => (await tracesOf(system.database, 'grace@', 'Hopper')).length === 0,
    );
    const standing = await client.get('/suppressions/grace@example.com');
    expect(standing.body).toMatchObject({ suppressed: true, reason: 'GLOBAL_UNSUBSCRIBE' });
    const held = await runCliForJson(variables, ['subscriber:export', ...of('grace@example.com')]);
    expect(held).toMatchObject({ subscriber: null, suppression: { suppressed: true }, deliveries: [] });
  });
});

function pick({ ipAddress, userAgent }: typeof consent) {
  return { ipAddress, userAgent };
}
