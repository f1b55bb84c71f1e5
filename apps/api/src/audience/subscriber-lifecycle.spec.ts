import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '#testing/time/clocks';
import { loadConfig } from '#platform';
import { ApiClient } from '#testing/http/api-client';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject, type TestProject } from '#testing/fixtures/fixtures';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { addKey } from '#testing/programs/system';
import { type RunningApi, startApi } from '../start-api.js';

const NOW = '2026-11-21T06:00:00.000Z';
const ADA = 'ada@example.com';
const consent = { source: 'signup-form' };
/** The free plan's. */
const LIMIT = 10_000;

describe('the life of a subscriber over HTTP', () => {
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
    client = await clientOf('test');
  });

  const clientOf = async (environment: 'live' | 'test', scopes?: readonly string[]) =>
    new ApiClient(api.url, await addKey(test, project[environment], scopes === undefined ? {} : { scopes }));
  const topic = async (name = 'News', of = client) =>
    (await of.post('/topics', { name, doubleOptInEnabled: false })).at('topicKey');
  const subscribe = (email: string, topicKeys: readonly string[], of = client) =>
    of.post('/subscribers', { email, topicKeys, consent });

  describe('erasing', () => {
    it('is 204, once, in any spelling; then there is nobody, and the address is free', async () => {
      const key = await topic();
      const { body } = await subscribe('Ada+x@Example.com', [key]);
      expect((await client.delete('/subscribers/ada%2Bx@EXAMPLE.com')).status).toBe(204);
      for (const path of ['', '/consents']) {
        expect((await client.get(`/subscribers/ada+x@example.com${path}`)).status).toBe(404);
      }
      const again = await client.delete('/subscribers/ada+x@example.com');
      const never = await client.delete('/subscribers/nobody@example.com');
      for (const answer of [again, never]) expect(answer.status).toBe(404);
      expect((await client.get('/subscribers')).at('pagination', 'totalElements')).toBe(0);
      expect((await client.get(`/topics/${key}`)).at('subscriberCount')).toBe(0);
      const anew = await subscribe('ada+x@example.com', [key]);
      expect(anew.status).toBe(201);
      expect(anew.at('id')).not.toBe((body as { id: string }).id);
    });

    it('needs subscribers:write, and reaches no other environment', async () => {
      await subscribe(ADA, [await topic()]);
      const reader = await clientOf('test', ['subscribers:read']);
      const refused = await reader.delete(`/subscribers/${ADA}`);
      expect([refused.status, refused.at('requiredScope')]).toEqual([403, 'subscribers:write']);
      expect((await (await clientOf('live')).delete(`/subscribers/${ADA}`)).status).toBe(404);
      expect((await client.delete('/subscribers/nobody')).status).toBe(400);
      expect((await client.get(`/subscribers/${ADA}`)).status).toBe(200);
    });

    it('leaves a suppressed address suppressed until that is lifted', async () => {
      const key = await topic();
      await subscribe(ADA, [key]);
      await client.post('/suppressions', { email: ADA, reason: 'SPAM_COMPLAINT' });
      expect((await client.delete(`/subscribers/${ADA}`)).status).toBe(204);
      const standing = {
        email: ADA,
        suppressed: true,
        reason: 'SPAM_COMPLAINT',
        streams: 'MARKETING',
        suppressedAt: NOW,
      };
      expect((await client.get(`/suppressions/${ADA}`)).body).toEqual(standing);
      const refused = await subscribe(ADA, [key]);
      expect([refused.status, refused.at('type')]).toEqual([409, expect.stringMatching(/\/suppressed$/)]);
      const repeated = await client.post('/suppressions', { email: ADA });
      expect([repeated.status, repeated.body]).toEqual([201, standing]);
      expect((await client.get('/suppressions')).at('pagination', 'totalElements')).toBe(0);
      const meant = { headers: { 'x-confirm-unsuppress': 'true' } };
      expect((await client.delete(`/suppressions/${ADA}`, meant)).status).toBe(204);
      expect((await client.get(`/suppressions/${ADA}`)).at('suppressed')).toBe(false);
      expect((await subscribe(ADA, [key])).status).toBe(201);
    });
  });

  describe('reporting an event', () => {
    const report = (body: unknown, email = ADA) => client.post(`/subscribers/${email}/events`, body);

    it('is accepted with properties of any JSON, and kept for that person', async () => {
      const subscriber = await subscribe(ADA, [await topic()]);
      const properties = { plan: 'pro', total: 12.5, tags: ['a', null], nested: { ok: true } };
      const accepted = await report({
        name: 'order.completed',
        properties,
        occurredAt: '2026-11-20T10:00:00+02:00',
      });
      expect([accepted.status, accepted.body]).toEqual([
        202,
        { id: expect.stringMatching(/^[\da-f-]{36}$/) },
      ]);
      expect((await report({ name: 'a' }, 'ADA@EXAMPLE.COM')).status).toBe(202);
      expect((await report({ name: 'b', properties: null, occurredAt: null })).status).toBe(202);
      const kept = await test.query(
        'select subscriber_id, name, properties, occurred_at from audience.subscriber_events where environment_id = $1 order by name',
        [project.test.environmentId],
      );
      const of = { subscriber_id: subscriber.at('id'), properties: {}, occurred_at: new Date(NOW) };
      expect(kept).toEqual([
        { ...of, name: 'a' },
        { ...of, name: 'b' },
        { ...of, name: 'order.completed', properties, occurred_at: new Date('2026-11-20T08:00:00Z') },
      ]);
      await client.delete(`/subscribers/${ADA}`);
      expect(
        await test.query('select 1 from audience.subscriber_events where environment_id = $1', [
          project.test.environmentId,
        ]),
      ).toEqual([]);
    });

    it.each([
      [{}, { name: 'is required' }],
      [{ name: '' }, { name: expect.stringMatching(/^must be 1 to 64 lower-case/) }],
      [{ name: 'Order' }, { name: expect.stringMatching(/^must be 1 to 64 lower-case/) }],
      [{ name: `a${'b'.repeat(64)}` }, { name: expect.stringMatching(/^must be 1 to 64 lower-case/) }],
      [{ name: 'a\n' }, { name: expect.stringMatching(/^must be 1 to 64 lower-case/) }],
      [{ name: 'a', properties: [] }, { properties: 'must be an object' }],
      [{ name: 'a', properties: 'x' }, { properties: 'must be an object' }],
      [{ name: 'a', properties: { text: 'ü'.repeat(4_096) } }, { properties: 'must be at most 8 KB' }],
      [{ name: 'a', properties: { text: 'a\u0000b' } }, { properties: 'must not contain a NUL character' }],
      [{ name: 'a', properties: { 'a\u0000b': 1 } }, { properties: 'must not contain a NUL character' }],
      [{ name: 'a', properties: { text: '\ud800' } }, { properties: 'must contain valid Unicode only' }],
      [{ name: 'a', occurredAt: 'yesterday' }, { occurredAt: expect.stringMatching(/ISO 8601/) }],
      [{ name: 'a', occurredAt: '2026-11-21T06:00:00' }, { occurredAt: expect.stringMatching(/ISO 8601/) }],
      [{ name: 'a', value: 1 }, { value: 'is not a known field' }],
    ])('is refused where it is malformed (%#)', async (body, errors) => {
      const refused = await report(body);
      expect([refused.status, refused.at('errors')]).toEqual([400, errors]);
    });

    it('is refused where JSON says more than can be kept', async () => {
      const huge = await report('{"name":"a","properties":{"n":1e999}}');
      expect([huge.status, huge.at('errors')]).toEqual([
        400,
        { properties: 'must not contain a number that is too large' },
      ]);
      const long = await report('{"name":"a","properties":{"ids":[9007199254740991,9007199254740992]}}');
      expect([long.status, long.at('errors')]).toEqual([
        400,
        { properties: expect.stringContaining('beyond 9007199254740991') },
      ]);
      const deep = await report(`{"name":"a","properties":{"a":${'['.repeat(30)}${']'.repeat(30)}}}`);
      expect([deep.status, Object.keys(deep.at<object>('errors'))]).toEqual([400, ['properties']]);
      const polluted = await report('{"name":"a","properties":{"__proto__":{"x":1}}}');
      expect(polluted.status).toBe(400);
    });

    it('takes up to 8 KB of properties', async () => {
      await subscribe(ADA, [await topic()]);
      const text = 'x'.repeat(8 * 1_024 - '{"t":""}'.length);
      expect((await report({ name: 'a', properties: { t: text } })).status).toBe(202);
      expect((await report({ name: 'a', properties: { t: `${text}x` } })).status).toBe(400);
    });

    it('is 404 for nobody and 422 for a time that cannot be', async () => {
      expect((await report({ name: 'a', occurredAt: '2036-01-01T00:00:00Z' })).status).toBe(404);
      await subscribe(ADA, [await topic()]);
      for (const [occurredAt, fault] of [
        ['2026-11-21T06:05:00.001Z', 'must not be in the future'],
        ['2024-11-21T05:59:59.999Z', 'must not be more than 730 days ago'],
      ]) {
        const refused = await report({ name: 'a', occurredAt });
        expect([refused.status, refused.at('errors')]).toEqual([422, { occurredAt: fault }]);
      }
      for (const occurredAt of ['2026-11-21T06:05:00Z', '2024-11-21T06:00:00Z']) {
        expect((await report({ name: 'a', occurredAt })).status).toBe(202);
      }
    });

    it('again with the same Idempotency-Key is the same event', async () => {
      await subscribe(ADA, [await topic()]);
      const once = { headers: { 'idempotency-key': 'order-7' } };
      const [first, second] = [
        await client.post(`/subscribers/${ADA}/events`, { name: 'a' }, once),
        await client.post(`/subscribers/${ADA}/events`, { name: 'a' }, once),
      ];
      expect(second.body).toEqual(first.body);
      expect(second.headers.get('idempotency-replayed')).toBe('true');
    });
  });

  describe('deleting a topic', () => {
    const campaignIn = async (status: string, topicId: string) => {
      const campaign = await client.post('/campaigns', { name: 'C', subject: 'S', topicIds: [topicId] });
      await test.query('update messaging.campaigns set status = $2 where id = $1', [
        campaign.at('id'),
        status,
      ]);
    };

    it('takes it from everywhere, its consents included, and is 404 after that', async () => {
      const [news, offers] = [await topic('News'), await topic('Offers')];
      const { id } = (await client.get(`/topics/${news}`)).body as { id: string };
      await subscribe(ADA, [news, offers]);
      await subscribe('grace@example.com', [news]);
      expect((await client.delete(`/topics/${news}`)).status).toBe(204);
      expect((await client.get(`/topics/${news}`)).status).toBe(404);
      expect((await client.patch(`/topics/${news}`, { name: 'X' })).status).toBe(404);
      expect((await client.delete(`/topics/${news}`)).status).toBe(404);
      expect(
        (await client.get('/topics')).at<{ topicKey: string }[]>('data').map(({ topicKey }) => topicKey),
      ).toEqual([offers]);
      expect((await client.get(`/subscribers?topicKey=${news}`)).at('pagination', 'totalElements')).toBe(0);
      const consents = (await client.get(`/subscribers/${ADA}/consents`)).at<{ topicKey: string }[]>(
        'consents',
      );
      expect(consents.map(({ topicKey }) => topicKey)).toEqual([offers]);
      expect((await client.get(`/subscribers/${ADA}`)).at('status')).toBe('ACTIVE');
      expect((await client.get('/subscribers/grace@example.com')).at('status')).toBe('UNSUBSCRIBED');
      const grant = await client.post(`/subscribers/${ADA}/consents`, { topicKey: news, ...consent });
      expect([grant.status, grant.at('errors')]).toEqual([422, { topicKey: 'is not a known topic' }]);
      expect((await subscribe('new@example.com', [news])).status).toBe(422);
      const campaign = await client.post('/campaigns', { name: 'C', subject: 'S', topicIds: [id] });
      expect([campaign.status, campaign.at('errors')]).toEqual([
        422,
        { 'topicIds[0]': 'is not a known topic' },
      ]);
    });

    it.each(['SCHEDULED', 'QUEUED_FOR_SENDING', 'SENDING', 'PAUSED'])(
      'is 409 while a campaign that is %s uses it',
      async (status) => {
        const key = await topic();
        await campaignIn(status, (await client.get(`/topics/${key}`)).at('id'));
        const refused = await client.delete(`/topics/${key}`);
        expect([refused.status, refused.at('type')]).toEqual([409, expect.stringMatching(/\/in-use$/)]);
        expect(refused.at('detail')).toMatch(/^The topic is used by the campaign APIT-\d+ “C”\.$/);
        expect((await client.get(`/topics/${key}`)).status).toBe(200);
      },
    );

    it.each(['DRAFT', 'SENT', 'CANCELLED', 'FAILED', 'ARCHIVED'])(
      'is possible when a campaign that is %s names it, which keeps the id',
      async (status) => {
        const key = await topic();
        const id = (await client.get(`/topics/${key}`)).at('id');
        await campaignIn(status, id);
        expect((await client.delete(`/topics/${key}`)).status).toBe(204);
        expect((await client.get('/campaigns')).at('data', 0, 'topicIds')).toEqual([id]);
      },
    );

    it('needs topics:write, and reaches no other environment', async () => {
      const key = await topic();
      expect((await (await clientOf('test', ['topics:read'])).delete(`/topics/${key}`)).status).toBe(403);
      expect((await (await clientOf('live')).delete(`/topics/${key}`)).status).toBe(404);
      expect((await client.delete('/topics/a%00b')).status).toBe(404);
      expect((await client.get(`/topics/${key}`)).status).toBe(200);
    });
  });

  describe('the plan’s limit of subscribers', () => {
    const errors = { email: `the plan's limit of ${LIMIT} subscribers is reached` };

    async function nearTheLimit(missing: number) {
      await test.query(
        `insert into billing.subscriptions (tenant_id, plan_tier, status, billing_interval, anchored_at, created_at, updated_at)
         values ($1, 'FREE', 'ACTIVE', 'MONTHLY', now(), now(), now())`,
        [project.live.tenantId],
      );
      const live = await clientOf('live');
      const key = await topic('News', live);
      const topicId = (await live.get(`/topics/${key}`)).at('id');
      await insertSubscribers(test, project.live, topicId, LIMIT - missing);
      return { live, key };
    }

    it('is never passed, however many come at once', async () => {
      const { live, key } = await nearTheLimit(3);
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, index) => subscribe(`late-${index}@example.com`, [key], live)),
      );
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 201)).toHaveLength(3);
      const refused = answers.filter(({ status }) => status === 422);
      expect(refused).toHaveLength(9);
      for (const answer of refused) expect(answer.at('errors')).toEqual(errors);
      expect((await live.get('/subscribers')).at('pagination', 'totalElements')).toBe(LIMIT);
    });

    it('counts whoever is there: one who goes makes room, one who comes twice is 409', async () => {
      const { live, key } = await nearTheLimit(0);
      expect((await subscribe('reader-1@example.com', [key], live)).status).toBe(409);
      expect((await subscribe('late@example.com', [key], live)).status).toBe(422);
      expect((await live.delete('/subscribers/reader-1@example.com')).status).toBe(204);
      expect((await subscribe('late@example.com', [key], live)).status).toBe(201);
    });

    it('does not bind the test environment', async () => {
      await nearTheLimit(0);
      expect((await subscribe(ADA, [await topic()])).status).toBe(201);
    });

    it('lets nobody in where the tenant has no plan', async () => {
      const live = await clientOf('live');
      const refused = await subscribe(ADA, [await topic('News', live)], live);
      expect([refused.status, refused.at('errors')]).toEqual([
        422,
        { email: "the plan's limit of 0 subscribers is reached" },
      ]);
    });
  });
});
