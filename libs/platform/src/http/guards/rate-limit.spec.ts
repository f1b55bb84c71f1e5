import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { UnavailableError } from '#kernel';
import { pino } from 'pino';
import { SystemClock } from '#testing/time/clocks';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { prolongWindow } from '#testing/time/rate-limit-window';
import { startRedis, type TestRedis } from '#testing/programs/redis';
import { problemIn, type SampleApi, sampleCaller, startSampleApi } from '#testing/http/sample-api';
import { letTimeGo, passTime, stopTime } from '#testing/time/time-limits';
import { Database } from '../../database/database.js';
import { HousekeepingService } from '../../jobs/housekeeping.service.js';
import {
  PostgresRateLimitStorage,
  RateLimitStorage,
  SharedHits,
  type WindowHit,
} from './rate-limit.storage.js';

describe.each(['PostgreSQL', 'Redis'])('The rate limit in %s', (store) => {
  let test: TestDatabase;
  let redis: TestRedis | undefined;
  let variables: Record<string, string>;
  let apis: [SampleApi, SampleApi];

  beforeAll(async () => {
    test = await createTestDatabase();
    if (store === 'Redis') redis = await startRedis();
    variables = { TRUST_PROXY: 'true', PAGE_LIMIT_PER_MINUTE: '3' };
    if (redis !== undefined) variables['REDIS_URL'] = redis.url;
    apis = [await startSampleApi(test.url, variables), await startSampleApi(test.url, variables)];
  });

  afterAll(async () => {
    await Promise.all(apis.map((api) => api.close()));
    await redis?.stop();
    await test.drop();
  });

  const prolong = (client: string) => prolongWindow({ database: test, variables }, client);
  const get = (api: SampleApi, headers: Record<string, string>, path = '/parcels') =>
    fetch(`${api.url}/api/v1${path}`, { headers });
  const standing = ({ status, headers }: Response) => ({
    status,
    limit: headers.get('x-ratelimit-limit'),
    remaining: headers.get('x-ratelimit-remaining'),
  });
  const issue = (key: string, rateLimitPerMinute: number | null) => {
    for (const api of apis)
      api.keys.issue(key, { ...sampleCaller(['topics:read'], rateLimitPerMinute), keyId: key });
  };

  it('counts a key’s requests over all instances, and says 429 with Retry-After past the limit', async () => {
    issue('three', 3);
    const begun = Math.floor(Date.now() / 1000);
    const answers = [await get(apis[0], { 'x-api-key': 'three' })];
    const ended = Math.ceil(Date.now() / 1000);
    await prolong('key:three');
    for (const api of [apis[1], apis[0], apis[1]]) answers.push(await get(api, { 'x-api-key': 'three' }));
    expect(answers.map(standing)).toEqual([
      { status: 200, limit: '3', remaining: '2' },
      { status: 200, limit: '3', remaining: '1' },
      { status: 200, limit: '3', remaining: '0' },
      { status: 429, limit: '3', remaining: '0' },
    ]);
    const [reset, ...later] = answers.map(({ headers }) => Number(headers.get('x-ratelimit-reset')));
    // A minute after one of the moments in between.
    expect(reset).toBeGreaterThanOrEqual(begun + 60);
    expect(reset).toBeLessThanOrEqual(ended + 60);
    const prolonged = reset! + 3_600;
    expect(later).toEqual([prolonged, prolonged, prolonged]);
    const retryAfter = Number(answers[3]?.headers.get('retry-after'));
    expect(retryAfter).toBeGreaterThanOrEqual(Math.max(1, prolonged - Math.ceil(Date.now() / 1000) - 1));
    expect(retryAfter).toBeLessThanOrEqual(prolonged - begun);
  });

  it('is 60 a minute for a key without a limit of its own', async () => {
    issue('default', null);
    expect(standing(await get(apis[0], { 'x-api-key': 'default' }))).toMatchObject({
      limit: '60',
      remaining: '59',
    });
  });

  it('lets exactly the limit through when many come at once', async () => {
    issue('rush', 10);
    const rush = (count: number) =>
      Promise.all(
        Array.from({ length: count }, (_unused, index) =>
          get(apis[index % 2 === 0 ? 0 : 1], { 'x-api-key': 'rush' }),
        ),
      );
    const answers = await rush(4);
    await prolong('key:rush');
    answers.push(...(await rush(26)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
  });

  it('comes before the scope, the path and the body', async () => {
    issue('used-up', 1);
    await get(apis[0], { 'x-api-key': 'used-up' });
    await prolong('key:used-up');
    expect((await get(apis[0], { 'x-api-key': 'used-up' }, '/nope')).status).toBe(429);
    const answer = await fetch(`${apis[0].url}/api/v1/parcels`, {
      method: 'POST',
      headers: { 'x-api-key': 'used-up' },
      body: '{',
    });
    expect(answer.status).toBe(429);
    expect(await problemIn(answer)).toMatchObject({
      type: 'https://mail.example/problems/rate-limited',
      status: 429,
    });
  });

  it('and the scope come before an upload is read', async () => {
    issue('uploads', 1);
    for (const [headers, status] of [
      [{}, 403],
      [{ 'idempotency-key': 'upload' }, 429],
      [{}, 429],
    ] as const) {
      const endless = new ReadableStream<Uint8Array>({
        start: (upload) => upload.enqueue(new TextEncoder().encode('email\n')),
      });
      const answer = await fetch(`${apis[0].url}/api/v1/parcels/import`, {
        method: 'POST',
        headers: { 'x-api-key': 'uploads', 'content-type': 'text/csv', ...headers },
        body: endless,
        duplex: 'half',
      });
      expect(answer.status).toBe(status);
      await answer.body?.cancel();
      if (status === 403) await prolong('key:uploads');
    }
    expect(apis[0].work.calls).toBe(0);
  });

  it('counts a body once that is too large to be read', async () => {
    issue('large', 10);
    const post = (length: number) =>
      fetch(`${apis[0].url}/api/v1/parcels`, {
        method: 'POST',
        headers: { 'x-api-key': 'large', 'content-type': 'application/json' },
        body: JSON.stringify('x'.repeat(length)),
      });
    expect(standing(await post(2_000_000))).toEqual({ status: 413, limit: '10', remaining: '9' });
    await prolong('key:large');
    expect(standing(await post(1))).toEqual({ status: 403, limit: '10', remaining: '8' });
  });

  it('stands in every authenticated answer, errors included', async () => {
    issue('errors', 1000);
    const statuses: [string, RequestInit, number][] = [
      ['/parcels?size=x', {}, 400],
      ['/parcels', { method: 'POST', body: '{' }, 403],
      ['/nope', {}, 404],
      ['/parcels', { method: 'PUT' }, 405],
      ['/parcels/fails/state', {}, 409],
      ['/parcels/fails/badly', {}, 500],
      ['/parcels/fails/unavailable', {}, 503],
    ];
    for (const [path, init, status] of statuses) {
      const answer = await fetch(`${apis[0].url}/api/v1${path}`, {
        ...init,
        headers: { 'x-api-key': 'errors' },
      });
      expect([path, standing(answer)]).toEqual([
        path,
        { status, limit: '1000', remaining: expect.stringMatching(/^\d+$/) },
      ]);
    }
  });

  it.each([
    ['203.0.113.7', '::ffff:203.0.113.7', '203.0.113.8', '203.0.113.7'],
    ['2001:db8:1:2::9', '2001:0DB8:1:2:3:4:5:6', '2001:db8:1:3::9', '2001:db8:1:2::/64'],
  ])('slows down a network that guesses keys (%s), and no keys', async (one, same, other, network) => {
    issue(`bystander of ${one}`, 1000);
    const from = (address: string) => ({ 'x-forwarded-for': address });
    for (let attempt = 0; attempt < 60; attempt += 1) {
      const [api, address] = attempt % 2 === 0 ? [apis[0], one] : [apis[1], same];
      expect((await get(api, { ...from(address), 'x-api-key': 'guess' })).status).toBe(401);
      if (attempt === 0) await prolong(`client:${network}`);
    }
    for (const address of [one, same]) {
      const refused = await get(apis[0], from(address));
      expect([refused.status, refused.headers.get('x-ratelimit-limit')]).toEqual([429, null]);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    expect((await get(apis[0], from(other))).status).toBe(401);
    const bystander = await get(apis[0], { ...from(one), 'x-api-key': `bystander of ${one}` });
    expect(standing(bystander)).toMatchObject({ status: 200, remaining: '999' });
  });

  it('counts the pages of a client, of all instances and whatever the page', async () => {
    const page = (number: number) =>
      fetch(`${apis[number % 2 === 0 ? 0 : 1].url}/shelf/${number}`, {
        headers: { 'x-forwarded-for': '203.0.113.9' },
      });
    expect((await page(1)).status).toBe(200);
    await prolong('page:203.0.113.9');
    for (const number of [2, 3]) expect((await page(number)).status).toBe(200);
    const refused = await page(4);
    expect([refused.status, refused.headers.get('x-ratelimit-limit')]).toEqual([429, null]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  });
});

describe('Windows that are over', () => {
  it('are removed, and no others', async () => {
    const test = await createTestDatabase();
    const database = await Database.connect({
      url: test.url,
      poolSize: 2,
      applicationName: 'spec',
      entities: [],
    });
    const storage = new PostgresRateLimitStorage(test.url);
    await storage.increment('runs', 60_000, 1);
    await storage.increment('is over', 0, 1);
    await new HousekeepingService(database, new SystemClock(), pino({ level: 'silent' })).removeExpiredRows();
    expect(await test.query('select key from platform.rate_limit_windows')).toEqual([{ key: 'runs' }]);
    await storage.close();
    await database.close();
    await test.drop();
  });
});

describe('Without its storage', () => {
  it('the rate limit lets no key through: 503 without a wait; readers get their pages', async () => {
    const test = await createTestDatabase();
    const redis = await startRedis();
    const api = await startSampleApi(test.url, { REDIS_URL: redis.url });
    api.keys.issue('key', sampleCaller(['topics:read']));
    const get = () => fetch(`${api.url}/api/v1/parcels`, { headers: { 'x-api-key': 'key' } });
    expect((await get()).status).toBe(200);
    await redis.stop();
    const answer = await get();
    expect([answer.status, Number(answer.headers.get('retry-after'))]).toEqual([503, 1]);
    // It was refused, and not waited for until the limit's patience ended.
    expect(await problemIn(answer)).toMatchObject({ detail: expect.not.stringContaining('in time') });
    expect((await fetch(`${api.url}/shelf/1`)).status).toBe(200);
    await api.close();
    await test.drop();
  });
});

/** A store whose answers come when the test says so. */
class SlowStore {
  readonly #counted = new Map<string, number>();
  readonly asked: [key: string, times: number][] = [];
  readonly answers: (() => void)[] = [];
  isLost = false;

  count(key: string, times: number): Promise<WindowHit> {
    this.asked.push([key, times]);
    return new Promise((resolve, reject) => {
      this.answers.push(() => {
        if (this.isLost) return reject(new Error('lost'));
        const hits = (this.#counted.get(key) ?? 0) + times;
        this.#counted.set(key, hits);
        resolve({ hits, endsAtMs: 60_000, remainingMs: 1 });
      });
    });
  }

  /** Answers until nothing is asked any more. */
  async answerAll(): Promise<void> {
    for (let answer = this.answers.shift(); answer !== undefined; answer = this.answers.shift()) {
      answer();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

const numbers = async (hits: readonly Promise<WindowHit>[]) =>
  (await Promise.all(hits)).map(({ hits: n }) => n);

describe('hits of a rate limit that come at the same time', () => {
  it('have a number each, in their order, and ask the store twice', async () => {
    const store = new SlowStore();
    const shared = new SharedHits((key, _windowMs, times) => store.count(key, times));
    const hits = Array.from({ length: 5 }, () => shared.hit('a', 60_000));
    await store.answerAll();
    expect(await numbers(hits)).toEqual([1, 2, 3, 4, 5]);
    expect(store.asked).toEqual([
      ['a', 1],
      ['a', 4],
    ]);
    const later = shared.hit('a', 60_000);
    await store.answerAll();
    expect((await later).hits).toBe(6);
  });

  it('of different keys do not wait for each other', async () => {
    const store = new SlowStore();
    const shared = new SharedHits((key, _windowMs, times) => store.count(key, times));
    const hits = [shared.hit('a', 60_000), shared.hit('b', 60_000)];
    expect(store.asked).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    await store.answerAll();
    expect(await numbers(hits)).toEqual([1, 1]);
  });

  it('fail with the store, and are counted again when it is back', async () => {
    const store = new SlowStore();
    const shared = new SharedHits((key, _windowMs, times) => store.count(key, times));
    store.isLost = true;
    const lost = Promise.allSettled([
      shared.hit('a', 60_000),
      shared.hit('a', 60_000),
      shared.hit('a', 60_000),
    ]);
    await store.answerAll();
    expect((await lost).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    store.isLost = false;
    const found = shared.hit('a', 60_000);
    await store.answerAll();
    expect((await found).hits).toBe(1);
  });
});

/** Answers when it is told to. */
class BusyStorage extends RateLimitStorage {
  readonly answer = Promise.withResolvers<WindowHit>();

  override ping = () => Promise.resolve();
  override reasonOf = () => null;
  override close = () => Promise.resolve();
  protected override count = () => this.answer.promise;
}

describe('While its storage is busy', () => {
  beforeEach(stopTime);
  afterEach(letTimeGo);

  it('the rate limit waits for it, as long as a checkpoint may take', async () => {
    const storage = new BusyStorage();
    const counted = storage.increment('key:1', 60_000, 60);
    passTime(4_999);
    storage.answer.resolve({ hits: 1, endsAtMs: 60_000, remainingMs: 60_000 });
    expect(await counted).toMatchObject({ totalHits: 1, isBlocked: false, resetAtSeconds: 60 });
  });

  it('the rate limit lets nobody through after that', async () => {
    const counted = new BusyStorage().increment('key:1', 60_000, 60);
    const refused = expect(counted).rejects.toThrow(UnavailableError);
    passTime(5_000);
    await refused;
  });
});
