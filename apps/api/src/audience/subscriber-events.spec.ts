import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { loadConfig } from '#platform';
import { ApiClient } from '#testing/http/api-client';
import { ManualClock } from '#testing/time/clocks';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject, type TestProject } from '#testing/fixtures/fixtures';
import { addKey } from '#testing/programs/system';
import { type RunningApi, startApi } from '../start-api.js';

const NOW = '2026-11-21T06:00:00.000Z';
const ADA = 'ada@example.com';
const BOB = 'bob@example.com';
const DAY_MS = 24 * 60 * 60_000;

describe('events of subscribers over HTTP', () => {
  let test: TestDatabase;
  let api: RunningApi;
  let project: TestProject;
  let client: ApiClient;
  const clock = new ManualClock(new Date(NOW));

  beforeAll(async () => {
    test = await createTestDatabase();
    const variables = { NODE_ENV: 'test', DATABASE_URL: test.url, PORT: '0', LOG_LEVEL: 'silent' };
    api = await startApi(loadConfig(variables), { clock });
  });
  afterAll(async () => {
    await api.app.close();
    await test.drop();
  });
  beforeEach(async () => {
    project = await createProject(test);
    client = new ApiClient(api.url, await addKey(test, project.test));
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    for (const email of [ADA, BOB])
      await client.post('/subscribers', {
        email,
        topicKeys: [topic.at('topicKey')],
        consent: { source: 'form' },
      });
  });

  const batch = (events: unknown) => client.post('/subscriber-events/batch', { events });
  const kept = () =>
    test.query<{ name: string; properties: object; unique_id: string | null; email: string }>(
      `select e.name, e.properties, e.unique_id, b.email from audience.subscriber_events e
       join audience.subscribers b on b.id = e.subscriber_id where e.environment_id = $1 order by e.name`,
      [project.test.environmentId],
    );

  it('are recorded by the batch, each for its person', async () => {
    const answer = await batch([
      { email: 'ADA@example.com', name: 'a', properties: { total: 12.5, items: [{ sku: 'A"1' }] } },
      { email: BOB, name: 'b', occurredAt: '2026-11-20T10:00:00+02:00', uniqueId: 'b-1', properties: null },
      { email: ADA, name: 'c', uniqueId: null, occurredAt: null },
    ]);
    expect([answer.status, answer.body]).toEqual([202, { accepted: 3, repeated: 0, errors: [] }]);
    expect(await kept()).toEqual([
      { name: 'a', properties: { total: 12.5, items: [{ sku: 'A"1' }] }, unique_id: null, email: ADA },
      { name: 'b', properties: {}, unique_id: 'b-1', email: BOB },
      { name: 'c', properties: {}, unique_id: null, email: ADA },
    ]);
  });

  it('that are not valid are named by their place, and do not keep the other 997', async () => {
    const events: object[] = Array.from({ length: 1_000 }, (_, index) => ({ email: ADA, name: `e${index}` }));
    events[3] = { email: ADA, name: 'large', properties: { text: 'x'.repeat(9 * 1_024) } };
    events[500] = { email: 'nobody@example.com', name: 'of_nobody' };
    events[999] = { email: 'nowhere', name: 'Order', when: 1 };
    const answer = await batch(events);
    expect([answer.status, answer.body]).toEqual([
      202,
      {
        accepted: 997,
        repeated: 0,
        errors: [
          { index: 3, errors: { 'events[3].properties': 'must be at most 8 KB' } },
          { index: 500, errors: { 'events[500].email': 'is not a known subscriber' } },
          {
            index: 999,
            errors: {
              'events[999].email': expect.any(String),
              'events[999].name': expect.stringMatching(/^must be 1 to 64/),
              'events[999].when': 'is not a known field',
            },
          },
        ],
      },
    ]);
    expect(await kept()).toHaveLength(997);
  });

  it('are about whom an address or an externalId names', async () => {
    await client.patch(`/subscribers/${BOB}`, { externalId: 'bob 7' });
    const answer = await batch([
      { email: ADA, name: 'a' },
      { externalId: 'bob 7', name: 'b' },
      { externalId: 'nobody', name: 'c' },
      { externalId: 'bob 7', email: BOB, name: 'd' },
      { name: 'e', email: null },
    ]);
    expect([answer.status, answer.body]).toEqual([
      202,
      {
        accepted: 2,
        repeated: 0,
        errors: [
          { index: 2, errors: { 'events[2].externalId': 'is not a known subscriber' } },
          { index: 3, errors: { 'events[3].externalId': 'must not be used together with email' } },
          { index: 4, errors: { 'events[4].email': 'is required where there is no externalId' } },
        ],
      },
    ]);
    expect((await kept()).map(({ name, email }) => [name, email])).toEqual([
      ['a', ADA],
      ['b', BOB],
    ]);
    expect((await batch([{ externalId: 'bob 7', name: 'z' }])).at('accepted')).toBe(1);
  });

  it('are found by their properties in rules, and unknown operators and paths are refused', async () => {
    const order = (email: string, total: number, ...skus: string[]) => ({
      email,
      name: 'order',
      properties: { total, items: skus.map((sku) => ({ sku })) },
    });
    await batch([order(ADA, 60, 'B2', 'A1'), order(BOB, 60, 'B2'), order(BOB, 10, 'A1')]);
    const preview = (...where: object[]) => {
      const event = { type: 'CUSTOM', name: 'order', where };
      const rules = { version: 1, where: { event, count: { op: 'gte', value: 1 } } };
      return client.post('/segments/preview', { rules: JSON.stringify(rules) });
    };
    const total = { property: 'total', op: 'gte', value: 50 };
    const sku = { property: 'items.sku', op: 'eq', value: 'A1' };
    expect((await preview(total)).at('count')).toBe(2);
    expect((await preview(total, sku)).at('sample', 0, 'email')).toBe(ADA);
    expect((await preview(total, sku)).at('count')).toBe(1);
    const refused = await preview(total, { property: 'items[0].sku', op: 'near', value: 1 });
    expect([refused.status, Object.keys(refused.at<object>('errors'))]).toEqual([
      422,
      ['rules.where.event.where[1].property', 'rules.where.event.where[1].op'],
    ]);
  });

  it('of a batch must have happened, and not long ago', async () => {
    const answer = await batch([
      { email: ADA, name: 'a', occurredAt: '2036-01-01T00:00:00Z' },
      { email: ADA, name: 'b', occurredAt: '2020-01-01T00:00:00Z' },
    ]);
    expect([answer.status, answer.body]).toEqual([
      202,
      {
        accepted: 0,
        repeated: 0,
        errors: [
          { index: 0, errors: { 'events[0].occurredAt': 'must not be in the future' } },
          { index: 1, errors: { 'events[1].occurredAt': 'must not be more than 730 days ago' } },
        ],
      },
    ]);
  });

  it.each([
    [{}, { events: 'is required' }],
    [{ events: [] }, { events: 'must have at least 1 item' }],
    [{ events: Array.from({ length: 1_001 }, () => 1) }, { events: 'must have at most 1000 items' }],
    [{ events: [{}], more: 1 }, { more: 'is not a known field' }],
  ])('are refused as a whole where they are no batch (%#)', async (body, errors) => {
    const refused = await client.post('/subscriber-events/batch', body);
    expect([refused.status, refused.at('errors')]).toEqual([400, errors]);
  });

  it('with the same uniqueId count once for 30 days, in a batch, in later ones, and one by one', async () => {
    const once = { email: ADA, name: 'order', uniqueId: 'order-7' };
    expect((await batch([once, once, { ...once, email: BOB }])).body).toMatchObject({
      accepted: 1,
      repeated: 2,
    });
    expect((await batch([once, { ...once, uniqueId: 'order-8' }])).body).toMatchObject({
      accepted: 1,
      repeated: 1,
    });
    const single = (uniqueId: string) =>
      client.post(`/subscribers/${ADA}/events`, { name: 'order', uniqueId });
    const [repeated, first, again] = [
      await single('order-7'),
      await single('order-9'),
      await single('order-9'),
    ];
    expect([repeated.status, first.status, again.status]).toEqual([202, 202, 202]);
    expect(again.body).toEqual(first.body);
    expect(await kept()).toHaveLength(3);
    const other = new ApiClient(api.url, await addKey(test, project.live));
    expect((await other.post('/subscriber-events/batch', { events: [once] })).at('errors', 0, 'index')).toBe(
      0,
    );
    clock.advance(30 * DAY_MS - 1);
    expect((await batch([once])).body).toMatchObject({ accepted: 0, repeated: 1 });
    clock.advance(1);
    expect((await batch([once])).body).toMatchObject({ accepted: 1, repeated: 0 });
  });

  it('that were not valid leave their uniqueId to the next try', async () => {
    const event = { email: ADA, name: 'order', uniqueId: 'late' };
    await batch([
      { ...event, email: 'nobody@example.com' },
      { ...event, name: 'Order' },
    ]);
    expect((await batch([event])).body).toMatchObject({ accepted: 1, repeated: 0 });
  });

  it('have a limit of their own in batches, 600 requests a minute, whatever the key has', async () => {
    const slow = new ApiClient(api.url, await addKey(test, project.test, { rateLimitPerMinute: 1 }));
    const answers = [1, 2, 3].map(() =>
      slow.post('/subscriber-events/batch', { events: [{ email: ADA, name: 'a' }] }),
    );
    for (const { status, headers } of await Promise.all(answers))
      expect([status, headers.get('x-ratelimit-limit'), headers.get('ratelimit-policy')]).toEqual([
        202,
        '600',
        '"events";q=600;w=60',
      ]);
    expect((await slow.get('/topics')).headers.get('x-ratelimit-limit')).toBe('1');
  });

  it('need the scope subscribers:write', async () => {
    const reader = new ApiClient(api.url, await addKey(test, project.test, { scopes: ['subscribers:read'] }));
    expect((await reader.post('/subscriber-events/batch', { events: [{}] })).status).toBe(403);
  });
});
