import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCli, runCliForJson } from '#testing/programs/operator-cli';
import { type SharedSystem, sharedSystem } from '#testing/programs/system';
import { tracesOf } from '#testing/postgres/traces';
import { WebhookReceiver } from '#testing/servers/webhook-receiver';

const SOFYA = 'sofya.kovalevskaya@example.com';
const consent = { source: 'signup-form', ipAddress: '198.51.100.177', userAgent: 'Abelian Integral/1' };

describe('a person of whom much is known', () => {
  let system: SharedSystem;
  let client: ApiClient;
  let projectName: string;
  let environmentId: number;
  /** A receiver of webhooks that answers with what it was told, and takes none. */
  let receiver: WebhookReceiver;
  const links = { unsubscribe: '', preferences: '' };

  beforeAll(async () => {
    system = await sharedSystem();
    const project = await system.project();
    client = await project.client('TEST');
    environmentId = project.test.environmentId;
    const [tenant] = await system.database.query<{ tenant_key: string }>(
      'select tenant_key from access.tenants where id = $1',
      [project.live.tenantId],
    );
    projectName = `${tenant?.tenant_key}/${project.projectKey}`;
    receiver = await WebhookReceiver.ofEvents();
    receiver.answer = ({ body }) => {
      receiver.says = body;
      return 500;
    };
    const environment = ['--project', projectName, '--env', 'test'];
    await runCliForJson(system.variables, ['webhook:create', ...environment, '--url', receiver.url]);
    await receiver.untilTold('suppression.removed', async (email) => {
      await client.post('/suppressions', { email });
      await client.delete(`/suppressions/${email}`, { headers: { 'x-confirm-unsuppress': 'true' } });
    });
    await getToKnowSofya();
  });

  afterAll(async () => {
    await system?.stop();
    receiver?.close();
  });

  const of = (email: string) => ['--project', projectName, '--env', 'test', '--email', email];
  const traces = () => tracesOf(system.database, 'kovalevskaya', '198.51.100.177', 'Abelian Integral');
  const attempts = async () => {
    const [row] = await system.database.query<{ count: number }>(
      'select count(*)::int from webhooks.attempts where environment_id = $1',
      [environmentId],
    );
    return row?.count;
  };

  /** Lets her subscribe, be asked to confirm, get a campaign and leave a topic by its link. */
  async function getToKnowSofya(): Promise<void> {
    const news = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    const offers = await client.post('/topics', { name: 'Offers', doubleOptInEnabled: true });
    const topicKeys = [news.at('topicKey'), offers.at('topicKey')];
    for (const person of [
      { email: SOFYA, lastName: 'Kovalevskaya', metadata: { note: 'Kovalevskaya' }, consent },
      { email: 'emmy@example.com', lastName: 'Noether', consent: { source: 'signup-form' } },
    ]) {
      expect((await client.post('/subscribers', { ...person, topicKeys })).status).toBe(201);
    }
    await client.post(`/subscribers/${SOFYA}/events`, {
      name: 'order.completed',
      properties: { for: 'Kovalevskaya' },
    });
    const campaign = await client.post('/campaigns', {
      name: 'Spring',
      subject: 'For {{ subscriber.last_name }}',
      contentText: 'Hello {{ subscriber.last_name }}, {{ links.unsubscribe }}',
      topicIds: [news.at('id')],
    });
    expect((await client.post(`/campaigns/${campaign.at('campaignKey')}/send`)).status).toBe(200);
    const inbox = await eventually('the campaign and the confirmation', async () => {
      const mails = await client.get(`/test-inbox/messages?to=${SOFYA}`);
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
    const data = await runCliForJson(system.variables, [
      'subscriber:export',
      ...of('SOFYA.kovalevskaya@example.com'),
    ]);
    expect(data).toMatchObject({
      subscriber: {
        email: SOFYA,
        lastName: 'Kovalevskaya',
        status: 'PENDING_CONFIRMATION',
        customFields: {},
        metadata: { note: 'Kovalevskaya' },
      },
      suppression: { email: expect.any(String), suppressed: false },
      consents: [
        { topicName: 'News', status: 'UNSUBSCRIBED' },
        { topicName: 'Offers', status: 'PENDING_CONFIRMATION' },
      ],
      confirmations: [{ topicKeys: ['APIT-2'] }],
      events: [{ name: 'order.completed', properties: { for: 'Kovalevskaya' } }],
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
      `CAMPAIGN ${SOFYA} SENT`,
      `OPT_IN ${SOFYA} SENT`,
    ]);
    expect(data['deliveryEvents']).toEqual([expect.objectContaining({ type: 'UNSUBSCRIBED' })]);
    expect((data['testInbox'] as { subject: string }[]).map(({ subject }) => subject)).toContain(
      'For Kovalevskaya',
    );
  });

  it('is not erased by an operator who has not said that it is meant', async () => {
    const refused = await runCli(system.variables, ['subscriber:erase', ...of(SOFYA)]);
    expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect((await client.get(`/subscribers/${SOFYA}`)).status).toBe(200);
    const unknown = await runCli(system.variables, [
      'subscriber:erase',
      ...of('nobody@example.com'),
      '--yes',
      '--json',
    ]);
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('unknown-subscriber')]);
    const malformed = await runCli(system.variables, ['subscriber:erase', ...of('nobody'), '--yes']);
    expect([malformed.exitCode, malformed.stderr]).toEqual([2, expect.stringContaining('--email is not an')]);
  });

  it('is erased from every table within seconds, and the numbers stay', async () => {
    const before = await statistics();
    const file = await client.get(`/campaigns/APIT-001/report/export?rows=deliveries`);
    expect(file.text).toContain(SOFYA);
    // An answer that comes while she is erased stays until the second pass: no later one repeats what it was told.
    receiver.answer = () => 500;
    receiver.says = '';
    await eventually(
      'the receiver’s answers are in the log',
      async () => (await attempts()) === receiver.posts.length,
    );
    expect(await traces()).toContain('webhooks.attempts');
    expect(await traces()).toEqual(expect.arrayContaining(['messaging.export_parts', 'webhooks.events']));
    expect((await client.delete(`/subscribers/${SOFYA}`)).status).toBe(204);
    await eventually('nothing is left', async () => (await traces()).length === 0);
    expect(await statistics()).toEqual(before);
    expect(
      (await client.get('/test-inbox/messages')).at<{ to: string }[]>('data').map(({ to }) => to),
    ).toEqual(['emmy@example.com', 'emmy@example.com']);
    const nothing = await runCli(system.variables, ['subscriber:export', ...of(SOFYA)]);
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

  it('is erased at the addresses before, too, which stay suppressed', async () => {
    const double = await client.post('/topics', { name: 'Double', doubleOptInEnabled: true });
    const [first, second, last] = ['one', 'two', 'three'].map((name) => `${name}.germain@example.com`);
    const topicKeys = [double.at('topicKey')];
    await client.post('/subscribers', { email: first, externalId: 'sophie', topicKeys, consent });
    await client.post('/suppressions', { email: first, reason: 'HARD_BOUNCE' });
    for (const email of [second, last])
      expect((await client.patch('/subscribers/ext%3Asophie', { email })).status).toBe(200);
    await eventually('the mails have come', async () => {
      const mails = await client.get(`/test-inbox/messages?to=${last}`);
      return mails.at<unknown[]>('data').length === 1;
    });
    expect(await tracesOf(system.database, 'germain')).toEqual(
      expect.arrayContaining(['audience.suppressions', 'messaging.test_inbox_messages']),
    );
    expect((await client.delete('/subscribers/ext%3Asophie')).status).toBe(204);
    await eventually(
      'nothing is left',
      async () => (await tracesOf(system.database, 'germain')).length === 0,
    );
    expect((await client.get(`/suppressions/${first}`)).body).toMatchObject({
      suppressed: true,
      reason: 'HARD_BOUNCE',
    });
  });

  it('is erased by the operator as by the API, suppressed addresses by their hash alone', async () => {
    await client.post('/suppressions', { email: 'emmy@example.com' });
    const erased = await runCliForJson(system.variables, [
      'subscriber:erase',
      ...of('emmy@example.com'),
      '--yes',
    ]);
    expect(erased).toEqual({ erased: true });
    await eventually(
      'nothing is left',
      async () => (await tracesOf(system.database, 'emmy@', 'Noether')).length === 0,
    );
    const standing = await client.get('/suppressions/emmy@example.com');
    expect(standing.body).toMatchObject({ suppressed: true, reason: 'GLOBAL_UNSUBSCRIBE' });
    const held = await runCliForJson(system.variables, ['subscriber:export', ...of('emmy@example.com')]);
    expect(held).toMatchObject({ subscriber: null, suppression: { suppressed: true }, deliveries: [] });
  });
});

function pick({ ipAddress, userAgent }: typeof consent) {
  return { ipAddress, userAgent };
}
