import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { expectProblem } from '#testing/http/problems';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';
import { WebhookReceiver } from '#testing/servers/webhook-receiver';

interface Delivery {
  readonly id: string;
  readonly eventId: string;
  readonly event: string;
  readonly state: string;
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly nextAttemptAt: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

describe('webhook endpoints', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let receiver: WebhookReceiver;
  let addresses = 0;

  beforeAll(async () => {
    system = await sharedSystem();
  });

  beforeEach(async () => {
    project = await system.project();
    client = await project.client('TEST');
    receiver = await WebhookReceiver.ofEvents();
  });

  afterEach(() => receiver?.close());
  afterAll(() => system?.stop());

  async function create(more: object = {}): Promise<ApiAnswer> {
    const created = await client.post('/webhook-endpoints', { url: receiver.url, ...more });
    expect(created.status).toBe(201);
    return created;
  }

  const pathOf = (endpoint: ApiAnswer) => `/webhook-endpoints/${endpoint.at('id')}`;
  const suppress = (email: string) => client.post('/suppressions', { email });
  const nextAddress = () => `hook-${(addresses += 1)}@example.com`;
  const deliveriesOf = async (path: string, query = '') =>
    (await client.get(`${path}/deliveries?size=100${query}`)).at<Delivery[]>('data');
  const settled = (path: string, states: readonly string[]) =>
    eventually(`deliveries to be ${states.join(', ')}`, async () => {
      const found = await deliveriesOf(path);
      return (
        found
          .map(({ state }) => state)
          .toSorted()
          .join() === states.toSorted().join() && found
      );
    });
  const verify = (secret: string, { body, headers } = receiver.posts.at(-1)!) =>
    new Webhook(secret).verify(body, headers as Record<string, string>);

  /** An endpoint that every process knows, as one event of `suppression.added` has shown, which is forgotten again. */
  async function known(more: object = {}): Promise<{ path: string; secret: string }> {
    const endpoint = await create({ events: ['suppression.*'], ...more });
    await receiver.untilTold('suppression.added', suppress);
    await eventually('all of them are settled', async () =>
      (await deliveriesOf(pathOf(endpoint))).every(({ state }) => state === 'DELIVERED'),
    );
    await system.database.query('delete from webhooks.deliveries where endpoint_id = $1', [
      endpoint.at('id'),
    ]);
    receiver.posts.length = 0;
    return { path: pathOf(endpoint), secret: endpoint.at('secret') };
  }

  it('are created with a secret that is shown once, read, changed and deleted', async () => {
    const created = await create({ events: ['email.*', 'consent.confirmed'], description: 'Shop' });
    const { secret, ...shown } = created.body as Record<string, unknown>;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(shown).toEqual({
      id: expect.any(String),
      url: receiver.url,
      events: ['email.*', 'consent.confirmed'],
      description: 'Shop',
      status: 'ENABLED',
      disabledReason: null,
      previousSecretUntil: null,
      createdAt: expect.any(String),
      updatedAt: shown['createdAt'],
    });
    const path = pathOf(created);
    expect(created.headers.get('location')).toBe(`/api/v1${path}`);
    expect((await client.get(path)).body).toEqual(shown);
    const all = await create();
    expect(all.at('events')).toEqual(['*']);
    const listed = await client.get('/webhook-endpoints');
    expect(listed.at<object[]>('data')).toEqual([
      expect.objectContaining({ id: all.at('id'), description: null }),
      shown,
    ]);
    expect(listed.text).not.toContain('whsec_');
    const changed = await client.patch(path, {
      url: `${receiver.url}/2`,
      events: ['*'],
      description: null,
      status: null,
    });
    expect(changed.body).toEqual({
      ...shown,
      url: `${receiver.url}/2`,
      events: ['*'],
      description: null,
      updatedAt: expect.any(String),
    });
    expect((await client.patch(path, { status: 'DISABLED' })).body).toMatchObject({
      status: 'DISABLED',
      disabledReason: null,
      events: ['*'],
    });
    expect((await client.delete(path)).status).toBe(204);
    expectProblem(await client.get(path), 404, 'not-found');
    expectProblem(await client.delete(path), 404, 'not-found');
  });

  it('are the same to the operator’s commands, which go through the same services', async () => {
    const which = ['--project', project.name, '--env', 'test'];
    const made = await runCliForJson(system.variables, [
      'webhook:create',
      ...which,
      '--url',
      receiver.url,
      '--events',
      'email.*,consent.granted',
    ]);
    const { secret, ...shown } = made;
    expect((await client.get('/webhook-endpoints')).at('data')).toEqual([shown]);
    const tested = await runCliForJson(system.variables, [
      'webhook:test',
      ...which,
      '--id',
      String(made['id']),
    ]);
    expect(tested).toMatchObject({ isAccepted: true, status: 204 });
    expect(verify(String(secret))).toMatchObject({ type: 'webhook.test' });
  });

  it('are told all of an area, and no other events', async () => {
    const { path, secret } = await known();
    const email = nextAddress();
    await client.post('/topics', { name: 'News' });
    await suppress(email);
    await client.delete(`/suppressions/${email}`, { headers: { 'x-confirm-unsuppress': 'true' } });
    const found = await settled(path, ['DELIVERED', 'DELIVERED']);
    expect(found.map(({ event }) => event).toSorted()).toEqual(['suppression.added', 'suppression.removed']);
    const removals = await deliveriesOf(path, '&event=suppression.removed');
    expect(removals).toEqual(found.filter(({ event }) => event === 'suppression.removed'));
    expect(receiver.events.map(({ data }) => data['email'])).toEqual([email, email]);
    expect(verify(secret)).toEqual(receiver.events.at(-1));
    expect((await client.patch(path, { events: ['email.*'] })).status).toBe(200);
    // Listeners are known by the row itself as soon as it is committed.
    await suppress(nextAddress());
    expect(await deliveriesOf(path)).toHaveLength(2);
  });

  it('refuse what cannot be posted to, and name each fault', async () => {
    const post = (body: object) => client.post('/webhook-endpoints', body);
    const wrong = {
      url: 7,
      events: ['email.opened', 'email.seen', 'mail.*'],
      status: 'ENABLED',
      description: 'a\nb',
    };
    const problem = expectProblem(await post(wrong), 400, 'validation-error', { errors: expect.any(Object) });
    expect(Object.keys(problem['errors'] as object).toSorted()).toEqual([
      'description',
      'events[1]',
      'events[2]',
      'status',
      'url',
    ]);
    for (const [body, errors] of [
      [
        { url: 'ftp://example.com', events: ['mail.*'] },
        { url: 'must be an http or https URL', 'events[0]': expect.stringContaining('must be one of') },
      ],
      ...['a\u0000b', 'a\ud800', ' a', 'a\n'].map(
        (path) => [{ url: `https://example.com/${path}` }, { url: 'must be an http or https URL' }] as const,
      ),
      [{ url: 'https://me:word@example.com' }, { url: 'must not carry a user name or a password' }],
      [
        { url: receiver.url, events: ['email.sent', 'email.sent'] },
        { 'events[1]': 'email.sent is named twice' },
      ],
      [{ url: receiver.url, events: ['*', 'email.*'] }, { events: '* stands for all: name it alone' }],
    ] as const)
      expectProblem(await post(body), 400, 'validation-error', { errors });
    expectProblem(await post({ url: receiver.url, events: [] }), 400, 'validation-error', {
      errors: expect.any(Object),
    });
    expect((await client.get('/webhook-endpoints')).at('pagination', 'totalElements')).toBe(0);
    const { path } = { path: pathOf(await create()) };
    expectProblem(await client.patch(path, { url: 'x', events: ['email.sent'] }), 400, 'validation-error', {
      errors: { url: 'must be an http or https URL' },
    });
    const elsewhere = { url: 'https://nowhere.invalid/hooks' };
    const unknown = '/webhook-endpoints/019aa3b5-0000-7000-8000-000000000000';
    expectProblem(await client.patch(unknown, elsewhere), 404, 'not-found');
    expectProblem(await client.patch(path, { events: ['a.b'] }), 400, 'validation-error', {
      errors: expect.any(Object),
    });
    expectProblem(
      await client.post(`${path}/rotate-secret`, { overlapHours: 169 }),
      400,
      'validation-error',
      {
        errors: { overlapHours: expect.any(String) },
      },
    );
    expectProblem(await client.post(`${path}/replay`, {}), 400, 'validation-error', {
      errors: { since: 'is required' },
    });
    for (const [query, field] of [
      ['state=SENT', 'state'],
      ['event=email.seen', 'event'],
      ['from=yesterday', 'from'],
      ['to=2026', 'to'],
      ['type=email.sent', 'type'],
    ] as const)
      expect(Object.keys((await client.get(`${path}/deliveries?${query}`)).at('errors'))).toEqual([field]);
    for (const id of ['APIT-1', '019aa3b5-0000-7000-8000-000000000000'])
      for (const answer of [
        await client.get(`/webhook-endpoints/${id}`),
        await client.patch(`/webhook-endpoints/${id}`, { status: 'ENABLED' }),
        await client.post(`/webhook-endpoints/${id}/rotate-secret`, {}),
        await client.post(`/webhook-endpoints/${id}/test`),
        await client.get(`/webhook-endpoints/${id}/deliveries`),
        await client.post(`/webhook-endpoints/${id}/replay`, { since: new Date() }),
        await client.post(`${path}/deliveries/${id}/replay`),
      ])
        expectProblem(answer, 404, 'not-found');
  });

  it('are at most 20, whoever comes at once, and made once by one Idempotency-Key', async () => {
    const body = { url: receiver.url };
    const headers = { 'idempotency-key': 'one' };
    const [one, same] = [
      await client.post('/webhook-endpoints', body, { headers }),
      await client.post('/webhook-endpoints', body, { headers }),
    ];
    expect(same.body).toEqual(one.body);
    const answers = await Promise.all(
      Array.from({ length: 22 }, () => client.post('/webhook-endpoints', body)),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(19);
    for (const refused of answers.filter(({ status }) => status !== 201))
      expectProblem(refused, 422, 'domain-validation', {
        errors: { endpoints: 'must be at most 20 in an environment' },
      });
  });

  it('sign by the old and the new secret for as long as was asked', async () => {
    const created = await create();
    const path = pathOf(created);
    const older = created.at('secret');
    const rotated = await client.post(`${path}/rotate-secret`, {});
    expect(rotated.status).toBe(200);
    const newer = rotated.at('secret');
    expect(newer).not.toBe(older);
    const hours =
      (Date.parse(rotated.at('previousSecretUntil')) - Date.parse(rotated.at('updatedAt'))) / 3_600_000;
    expect(hours).toBe(24);
    expect((await client.post(`${path}/test`)).at('isAccepted')).toBe(true);
    for (const secret of [older, newer]) expect(verify(secret)).toMatchObject({ type: 'webhook.test' });
    const last = await client.post(`${path}/rotate-secret`, { overlapHours: 0 });
    expect(last.at('previousSecretUntil')).toBeNull();
    await client.post(`${path}/test`);
    expect(verify(last.at('secret'))).toMatchObject({ type: 'webhook.test' });
    for (const secret of [older, newer]) expect(() => verify(secret)).toThrow();
  });

  it('are tested by a signed post, whose answer is said and changes nothing', async () => {
    const created = await create({ events: ['campaign.sent'] });
    const path = pathOf(created);
    receiver.says = `received ${'x'.repeat(2_000)}`;
    const accepted = await client.post(`${path}/test`);
    expect(accepted.body).toEqual({
      eventId: receiver.ids[0],
      isAccepted: true,
      status: 204,
      durationMs: expect.any(Number),
      body: '',
      error: null,
    });
    expect(verify(created.at('secret'))).toEqual({
      type: 'webhook.test',
      timestamp: expect.any(String),
      sequence: 0,
      data: { endpointId: created.at('id') },
    });
    receiver.answer = () => 410;
    await client.patch(path, { status: 'DISABLED' });
    expect((await client.post(`${path}/test`)).body).toMatchObject({
      isAccepted: false,
      status: 410,
      body: receiver.says.slice(0, 1_000),
      error: null,
    });
    await client.patch(path, { status: 'ENABLED' });
    await client.post(`${path}/test`);
    expect((await client.get(path)).at('status')).toBe('ENABLED');
    expect(await deliveriesOf(path)).toEqual([]);
    expect((await client.get('/events')).at('data')).toEqual([]);
    receiver.close();
    expect((await client.post(`${path}/test`)).body).toMatchObject({
      isAccepted: false,
      status: null,
      body: null,
      error: 'The connection failed: ECONNREFUSED.',
    });
  });

  it('that do not answer are waited for 5 seconds in a test', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const sockets: { destroy(): void }[] = [];
    silent.on('connection', (socket) => sockets.push(socket));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
    const tested = await client.post(`${pathOf(await create({ url }))}/test`);
    for (const socket of sockets) socket.destroy();
    silent.close();
    expect(tested.body).toMatchObject({
      isAccepted: false,
      status: null,
      error: 'It did not answer in time.',
    });
    expect(tested.at<number>('durationMs')).toBeGreaterThan(4_900);
    expect(tested.at<number>('durationMs')).toBeLessThan(10_000);
  });

  it('list their deliveries by state and time, and tell again what failed, once', async () => {
    const { path } = await known();
    receiver.answer = () => 500;
    receiver.says = 'no such route';
    const [first, second] = [nextAddress(), nextAddress()];
    for (const email of [first, second]) await suppress(email);
    const failing = await eventually('both were tried', async () => {
      const found = await deliveriesOf(path);
      return found.length === 2 && found.every(({ lastStatus }) => lastStatus === 500) && found;
    });
    expect(failing).toEqual(
      [1, 2].map(() => ({
        id: expect.any(String),
        endpointId: path.split('/')[2],
        eventId: expect.any(String),
        event: 'suppression.added',
        state: 'PENDING',
        attempts: expect.any(Number),
        lastStatus: 500,
        lastError: 'HTTP 500: no such route',
        nextAttemptAt: expect.any(String),
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      })),
    );
    // Disabling ends them.
    await client.patch(path, { status: 'DISABLED' });
    const failed = await settled(path, ['FAILED', 'FAILED']);
    expect(failed.map(({ lastError, nextAttemptAt }) => [lastError, nextAttemptAt])).toEqual(
      [1, 2].map(() => ['The endpoint was disabled.', null]),
    );
    const since = failed.at(-1)!.createdAt;
    const refused = await client.post(`${path}/replay`, { since });
    expectProblem(refused, 409, 'invalid-state', { currentState: 'DISABLED', allowedStates: ['ENABLED'] });
    expectProblem(await client.post(`${path}/deliveries/${failed[0]!.id}/replay`), 409, 'invalid-state', {
      currentState: 'DISABLED',
      allowedStates: ['ENABLED'],
    });
    await client.patch(path, { status: 'ENABLED' });
    receiver.answer = () => 204;
    receiver.posts.length = 0;
    const one = await client.post(`${path}/deliveries/${failed[0]!.id}/replay`);
    expect(one.status).toBe(202);
    expect(one.body).toMatchObject({
      eventId: failed[0]!.eventId,
      state: 'PENDING',
      attempts: 0,
      lastError: null,
    });
    expect(one.at('id')).not.toBe(failed[0]!.id);
    await settled(path, ['DELIVERED', 'FAILED', 'FAILED']);
    // The other one alone was never accepted.
    const others = await Promise.all([1, 2, 3].map(() => client.post(`${path}/replay`, { since })));
    expect(others.map(({ status }) => status)).toEqual([202, 202, 202]);
    const counts = others.map((answer) => answer.at<number>('replayed'));
    expect(counts.reduce((sum, count) => sum + count)).toBe(1);
    const all = await settled(path, ['DELIVERED', 'DELIVERED', 'FAILED', 'FAILED']);
    expect(receiver.ids.toSorted()).toEqual(failed.map(({ eventId }) => eventId).toSorted());
    expect((await client.post(`${path}/replay`, { since })).body).toEqual({ replayed: 0, hasMore: false });
    const ids = (found: readonly Delivery[]) => found.map(({ id }) => id);
    const [third] = all;
    for (const [query, expected] of [
      ['&state=FAILED', all.filter(({ state }) => state === 'FAILED')],
      ['&state=PENDING', []],
      ['&state=DELIVERED', all.filter(({ state }) => state === 'DELIVERED')],
      [`&from=${third!.createdAt}`, all.filter(({ createdAt }) => createdAt >= third!.createdAt)],
      [`&to=${third!.createdAt}`, all.filter(({ createdAt }) => createdAt < third!.createdAt)],
      [`&from=${since}&to=${since}`, []],
      ['&event=suppression.added&state=FAILED', all.filter(({ state }) => state === 'FAILED')],
      ['&event=suppression.removed', []],
    ] as const)
      expect([query, ids(await deliveriesOf(path, query))]).toEqual([query, ids(expected)]);
    expect((await client.post(`${path}/replay`, { since, state: 'ALL' })).at('replayed')).toBe(2);
  });

  it('that answer 410 are disabled, and say why', async () => {
    const { path } = await known();
    receiver.answer = () => 410;
    await suppress(nextAddress());
    await eventually('it is disabled', async () => (await client.get(path)).at('status') === 'DISABLED');
    expect((await client.get(path)).at('disabledReason')).toBe('It answered 410 Gone.');
    expect((await client.patch(path, { status: 'ENABLED' })).at('disabledReason')).toBeNull();
  });
});
