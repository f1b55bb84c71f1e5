import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { sharedSystem, type System, type SystemProject } from '#testing/programs/system';

const COUNT = 5;
const NUMBERS = Array.from({ length: COUNT }, (_unused, index) => index);
const GRAPH = {
  nodes: JSON.stringify([
    { id: 'start', type: 'trigger', config: {} },
    { id: 'wait', type: 'delay', config: { duration: 'P30D' } },
  ]),
  edges: JSON.stringify([{ id: 'first', source: 'start', target: 'wait' }]),
};

describe('a walk by cursor', () => {
  let system: System;
  let project: SystemProject;
  let client: ApiClient;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
  });
  afterAll(() => system?.stop());

  /** All pages of two, which must be what a page of all shows, in its order. */
  async function walk(path: string, count = COUNT): Promise<void> {
    const whole = (await client.get(`${path}?size=100`)).at<object[]>('data');
    expect(whole).toHaveLength(count);
    const seen: object[] = [];
    for (let after: string | null = ''; after !== null;) {
      const answer = await client.get(`${path}?size=2&after=${after}`);
      expect([answer.status, answer.at('pagination', 'totalElements')]).toEqual([200, count]);
      seen.push(...answer.at<object[]>('data'));
      after = answer.at<string | null>('pagination', 'next');
      expect(answer.at('pagination', 'hasNext')).toBe(after !== null);
    }
    expect(seen).toEqual(whole);
    const wrong = Buffer.from('[1,5,{"x":1},{}]').toString('base64url');
    expect((await client.get(`${path}?after=${wrong}`)).at('errors')).toEqual({ after: expect.any(String) });
  }

  const each = (make: (number: number) => Promise<ApiAnswer>) =>
    NUMBERS.reduce(async (before, number) => {
      await before;
      expect((await make(number)).status).toBeLessThan(300);
    }, Promise.resolve());

  const people = () =>
    each(async (number) => {
      const topic = await client.post('/topics', { name: `Topic ${number}`, doubleOptInEnabled: false });
      const topicKeys = [topic.at('topicKey')];
      return client.post('/subscribers', {
        email: `reader${number}@example.com`,
        topicKeys,
        consent: { source: 'form' },
      });
    });

  it('goes through what became of a message, also at one moment', async () => {
    const scheduledAt = new Date(Date.now() + 3_600_000);
    const sent = await client.post('/messages', {
      to: 'waiting@example.com',
      purpose: 'A test',
      subject: 'Hello',
      text: 'Hello',
      scheduledAt,
    });
    await system.database.query(
      `insert into messaging.message_events (environment_id, message_id, occurred_at, id, type)
       select m.environment_id, m.id, m.created_at + interval '1 second', gen_random_uuid(), 'ATTEMPTED'
       from messaging.messages m cross join generate_series(2, $2::int) where m.id = $1`,
      [sent.at('id'), COUNT],
    );
    await walk(`/messages/${sent.at('id')}/events`);
  });

  it('goes through segments and the members of one', async () => {
    await people();
    await each((number) => client.post('/segments', { name: `Segment ${number}` }));
    const { data } = (await client.get('/segments')).body as { data: { segmentKey: string }[] };
    const members = `/segments/${data[0]?.segmentKey}/members`;
    await each((number) => client.post(members, { emails: [`reader${number}@example.com`] }));
    await walk('/segments');
    await walk(members);
  });

  it('goes through automations and the runs of one', async () => {
    await each((number) =>
      client.post('/automations', { name: `Automation ${number}`, triggerType: 'manual' }),
    );
    const { data } = (await client.get('/automations')).body as { data: { id: string }[] };
    const automation = `/automations/${data[0]?.id}`;
    expect((await client.patch(`${automation}/content`, GRAPH)).status).toBe(200);
    expect((await client.post(`${automation}/activate`)).status).toBe(200);
    await each((number) => client.post(`${automation}/executions`, { email: `reader${number}@example.com` }));
    await walk('/automations');
    await walk(`${automation}/executions`);
  });

  it('goes through the errors of an import', async () => {
    const rows = NUMBERS.map((number) => ({ email: `nobody ${number}` }));
    const topicKeys = [(await client.get('/topics')).at('data', 0, 'topicKey')];
    const imported = await client.post('/subscriber-imports', {
      rows,
      topicKeys,
      consent: { source: 'file' },
    });
    const path = `/subscriber-imports/${imported.at('id')}`;
    await eventually('the import is done', async () => (await client.get(path)).at('status') === 'COMPLETED');
    await walk(`${path}/errors`);
  });

  it('goes through relays in the order in which they are tried', async () => {
    const relay = { kind: 'SMTP', host: '127.0.0.1', port: 25, tls: 'OPPORTUNISTIC' };
    await each((number) =>
      client.post('/relays', { ...relay, name: `Relay ${number}`, priority: 1 + (number % 2) * 10 }),
    );
    await walk('/relays');
  });

  it('goes through API keys', async () => {
    await each((number) => client.post('/api-keys', { name: `Key ${number}`, scopes: ['topics:read'] }));
    await walk('/api-keys', COUNT + 1);
  });

  it('goes through webhook endpoints and the deliveries to one, also of one moment', async () => {
    await each((number) =>
      client.post('/webhook-endpoints', {
        url: `http://127.0.0.1:9/${number}`,
        events: ['credits.depleted'],
      }),
    );
    const endpointId = (await client.get('/webhook-endpoints')).at('data', 0, 'id');
    await system.database.query(
      `with event as (
         insert into webhooks.events (id, environment_id, type, data, occurred_at, sequence)
         select platform.new_id(), p.environment_id, 'credits.depleted', '{}', now(), n
         from webhooks.endpoints p cross join generate_series(1, $2::int) n where p.id = $1
         returning *
       ), numbered as (
         insert into webhooks.sequences (environment_id, last) select environment_id, count(*) from event group by 1
       )
       insert into webhooks.deliveries
         (id, environment_id, endpoint_id, event_id, state, next_attempt_at, finished_at, created_at)
       select platform.new_id(), environment_id, $1, id, 'FAILED', now(), now(), now() from event`,
      [endpointId, COUNT],
    );
    await walk('/webhook-endpoints');
    await walk(`/webhook-endpoints/${endpointId}/deliveries`);
  });

  it('goes through credits and invoices', async () => {
    const [tenant] = await system.database.query<{ tenant_key: string }>(
      'select tenant_key from access.tenants where id = $1',
      [project.test.tenantId],
    );
    const options = ['--tenant', tenant?.tenant_key ?? '', '--description', 'By hand', '--credits', '7'];
    // The worker gives them by itself, soon after the project was made.
    await eventually(
      'the credits of the first month',
      async () => (await client.get('/credits/balance')).at<number>('balance') > 0,
    );
    const before = (await client.get('/credits/transactions')).at<number>('pagination', 'totalElements');
    for (const _number of NUMBERS)
      await runCliForJson({ DATABASE_URL: system.database.url }, ['credits:grant', ...options]);
    await walk('/credits/transactions', before + COUNT);
    await system.database.query(
      `insert into billing.invoices (public_id, tenant_id, subscription_id, status, billing_reason, currency, subtotal_cents, tax_rate_bp,
         tax_cents, amount_cents, seller, buyer, created_at, updated_at)
       select platform.new_id(), tenant_id, id, 'DRAFT', 'subscription_cycle', 'EUR', 100, 0, 0, 100, '{}', '{}', now(), now()
       from billing.subscriptions cross join generate_series(1, $2::int) where tenant_id = $1`,
      [project.test.tenantId, COUNT],
    );
    await walk('/billing/invoices', COUNT);
  });
});
