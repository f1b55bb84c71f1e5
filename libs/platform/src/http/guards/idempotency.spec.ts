import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { pino } from 'pino';
import { SystemClock } from '#testing/time/clocks';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { prolongWindow } from '#testing/time/rate-limit-window';
import { problemIn, type SampleApi, sampleCaller, startSampleApi } from '#testing/http/sample-api';
import { Database } from '../../database/database.js';
import { HousekeepingService } from '../../jobs/housekeeping.service.js';
import { AnswerSeal } from './idempotency-key.repository.js';

const BODY = { name: 'jane', consent: { source: 'web' } };

describe('Idempotency-Key', () => {
  let test: TestDatabase;
  let apis: [SampleApi, SampleApi];
  let key: string;

  beforeAll(async () => {
    test = await createTestDatabase();
    apis = [await startSampleApi(test.url), await startSampleApi(test.url)];
  });

  beforeEach(() => {
    key = crypto.randomUUID();
    const caller = sampleCaller(['topics:write'], 100_000);
    for (const api of apis) {
      api.keys.issue(key, caller);
      api.work.calls = 0;
      api.work.gate = Promise.resolve();
    }
  });

  afterAll(async () => {
    await Promise.all(apis.map((api) => api.close()));
    await test.drop();
  });

  const post = (
    body: unknown,
    { api = apis[0], idempotencyKey = 'one', path = '/parcels', apiKey = key } = {},
  ) =>
    fetch(`${api.url}/api/v1${path}`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });

  it('gives a repeated request the first answer, on every instance, and runs it once', async () => {
    const first = await post(BODY);
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, null]);
    const again = await post(BODY, { api: apis[1] });
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.headers.get('location')).toBe('/api/v1/parcels/7');
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(await again.text()).toBe(await first.text());
    expect(apis.map(({ work }) => work.calls)).toEqual([1, 0]);
  });

  it('is good for one key, method and path', async () => {
    await post(undefined, { path: '/parcels/1/send' });
    expect(
      (await post(undefined, { path: '/parcels/2/send' })).headers.get('idempotency-replayed'),
    ).toBeNull();
    const other = crypto.randomUUID();
    apis[0].keys.issue(other, sampleCaller(['topics:write'], 100_000));
    expect(
      (await post(undefined, { path: '/parcels/1/send', apiKey: other })).headers.get('idempotency-replayed'),
    ).toBeNull();
    expect((await post(undefined, { path: '/parcels/1/send' })).headers.get('idempotency-replayed')).toBe(
      'true',
    );
    expect(apis[0].work.calls).toBe(3);
  });

  it('compares what requests say, not how they are written', async () => {
    await post('{"name":"jane","consent":{"source":"web"}}', { path: '/parcels' });
    for (const again of [
      '{"consent":{"source":"web"},"name":"jane"}',
      ' {\n"name" : "\\u006aane",\t"consent": {"source":"web"}} ',
    ])
      expect((await post(again)).headers.get('idempotency-replayed')).toBe('true');
    const path = (email: string) => `/parcels/by-email/${email}?size=5&page=1`;
    const noted = { text: 'x' };
    expect((await post(noted, { path: path('a@b.example'), idempotencyKey: 'note' })).status).toBe(204);
    const spelled = path('a%40b.example').replace('size=5&page=1', 'page=%31&size=5');
    const again = await post(noted, { path: spelled, idempotencyKey: 'note' });
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([204, 'true']);
    const deep = `{"name":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect((await post(deep, { idempotencyKey: 'deep' })).status).toBe(400);
  });

  it('refuses the same key with another body', async () => {
    await post(BODY);
    const other = await post({ ...BODY, name: 'Jane' });
    expect(other.status).toBe(422);
    const problem = await problemIn(other);
    expect(problem).toMatchObject({ type: 'https://mail.example/problems/idempotency-key-reused' });
    expect((await post(BODY)).headers.get('idempotency-replayed')).toBe('true');
  });

  it('is in flight while the first request runs, without keeping a connection', async () => {
    const gate = Promise.withResolvers<void>();
    apis[0].work.gate = gate.promise;
    const first = post(BODY);
    await eventually('the first request runs', () => apis[0].work.calls === 1);
    const second = await post(BODY, { api: apis[1] });
    expect(second.status).toBe(409);
    expect(await problemIn(second)).toMatchObject({
      type: 'https://mail.example/problems/idempotency-in-flight',
    });
    expect((await post({ ...BODY, name: 'other' }, { api: apis[1] })).status).toBe(422);
    const open = await test.query(
      `select 1 from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    );
    expect(open).toEqual([]);
    gate.resolve();
    expect((await first).status).toBe(201);
    expect((await post(BODY)).headers.get('idempotency-replayed')).toBe('true');
  });

  it('keeps what the domain refused, but not what may go well the next time', async () => {
    const refused = { ...BODY, name: 'unknown' };
    await post(refused);
    expect((await post(refused)).headers.get('idempotency-replayed')).toBe('true');
    for (const [body, status] of [
      [{ ...BODY, name: '' }, 400],
      [{ ...BODY, name: 'crash' }, 500],
    ] as const) {
      const idempotencyKey = `status ${status}`;
      expect((await post(body, { idempotencyKey })).status).toBe(status);
      const again = await post(body, { idempotencyKey });
      expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([status, null]);
      expect((await post(BODY, { idempotencyKey })).status).toBe(201);
    }
  });

  it('takes over from a process that died, when its lock has run out', async () => {
    const gate = Promise.withResolvers<void>();
    apis[0].work.gate = gate.promise;
    const lost = post(BODY);
    await eventually('the first request runs', () => apis[0].work.calls === 1);
    expect((await post(BODY, { api: apis[1] })).status).toBe(409);
    // A process that is dead renews nothing.
    await test.query(
      `update platform.idempotency_keys set locked_until = clock_timestamp() where status is null`,
    );
    expect((await post(BODY, { api: apis[1] })).status).toBe(201);
    // The one thought dead comes back: its answer must not replace the kept one.
    gate.resolve();
    await lost;
    const replayed = await post(BODY);
    expect([replayed.headers.get('idempotency-replayed'), apis.map(({ work }) => work.calls)]).toEqual([
      'true',
      [1, 1],
    ]);
  });

  it('stays taken when a request ran out of time, since its handler may still succeed', async () => {
    const gate = Promise.withResolvers<void>();
    apis[0].work.gate = gate.promise;
    const late = await post(undefined, { path: '/parcels/slowly' });
    expect([late.status, late.headers.get('retry-after')]).toEqual([503, '1']);
    // On a busy machine a request may run out of time before it has the key.
    await eventually('the key is taken', async () => {
      const { status } = await post(undefined, { path: '/parcels/slowly' });
      return status === 409;
    });
    gate.resolve();
  });

  it('is free again when a request ran out of time before it had it', async () => {
    const locker = new pg.Client({ connectionString: test.adminUrl });
    await locker.connect();
    await locker.query('begin; lock table platform.idempotency_keys in access exclusive mode');
    const late = await post(undefined, { path: '/parcels/slowly' });
    expect(late.status).toBe(503);
    await locker.query('commit');
    await locker.end();
    await eventually('the next one runs', async () => {
      const { status } = await post(undefined, { path: '/parcels/slowly' });
      return status === 204;
    });
  });

  it('is forgotten after 24 hours, and removed', async () => {
    const pass = (time: string) =>
      test.query('update platform.idempotency_keys set expires_at = expires_at - $1::interval', [time]);
    await post(BODY);
    await pass('23 hours 55 minutes');
    expect((await post(BODY)).headers.get('idempotency-replayed')).toBe('true');
    await pass('5 minutes');
    expect((await post(BODY)).headers.get('idempotency-replayed')).toBeNull();
    await pass('24 hours');
    const database = await Database.connect({
      url: test.url,
      poolSize: 2,
      applicationName: 'spec',
      entities: [],
    });
    await new HousekeepingService(database, new SystemClock(), pino({ level: 'silent' })).removeExpiredRows();
    await database.close();
    expect(
      await test.query('select 1 from platform.idempotency_keys where expires_at <= clock_timestamp()'),
    ).toEqual([]);
  });

  it('must be 1 to 255 printable characters', async () => {
    for (const idempotencyKey of ['', 'x'.repeat(256), 'ü']) {
      const answer = await post(BODY, { idempotencyKey });
      expect(answer.status).toBe(400);
      expect(await problemIn(answer)).toMatchObject({
        errors: { 'Idempotency-Key': 'must be 1 to 255 printable ASCII characters' },
      });
    }
    expect((await post(BODY, { idempotencyKey: 'x'.repeat(255) })).status).toBe(201);
  });

  it('changes nothing about who may come in', async () => {
    expect((await post(BODY, { apiKey: 'nobody' })).status).toBe(401);
    expect((await post('{')).status).toBe(400);
    expect((await post(BODY)).status).toBe(201);
  });

  it('is looked at after the limit, against which a replay counts, and after the scope', async () => {
    const stored = () => test.query('select 1 from platform.idempotency_keys');
    const before = (await stored()).length;
    const caller = sampleCaller(['topics:write'], 3);
    const issue = (scopes: typeof caller.scopes) => apis[0].keys.issue('few', { ...caller, scopes });
    const asked = async (idempotencyKey: string) => {
      const { status, headers } = await post(BODY, { apiKey: 'few', idempotencyKey });
      return [status, headers.get('idempotency-replayed'), headers.get('x-ratelimit-remaining')];
    };
    issue(caller.scopes);
    expect(await asked('one')).toEqual([201, null, '2']);
    await prolongWindow({ database: test, variables: {} }, `key:${caller.keyId}`);
    expect(await asked('one')).toEqual([201, 'true', '1']);
    issue(new Set());
    expect(await asked('one')).toEqual([403, null, '0']);
    issue(caller.scopes);
    expect(await asked('one')).toEqual([429, null, '0']);
    expect(await asked('two')).toEqual([429, null, '0']);
    expect(await stored()).toHaveLength(before + 1);
  });

  it('works for a streamed body, whose repetition is compared as a whole', async () => {
    const send = (body: string, query = '') =>
      fetch(`${apis[0].url}/api/v1/parcels/import${query}`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'text/csv', 'idempotency-key': 'csv' },
        body,
      });
    const csv = 'email\njane@example.com\n'.repeat(100_000);
    const first = await send(csv);
    expect([first.status, await first.json()]).toEqual([202, { bytes: csv.length }]);
    const again = await send(csv);
    expect([again.headers.get('idempotency-replayed'), await again.json()]).toEqual([
      'true',
      { bytes: csv.length },
    ]);
    expect((await send(`${csv}x`)).status).toBe(422);
    expect((await send(csv, '?onConflict=SKIP')).status).toBe(422);
    expect(apis[0].work.calls).toBe(1);
  });

  it('leaves no personal data in its table', async () => {
    await post(BODY, { idempotencyKey: 'for jane@example.com' });
    const rows = await test.query('select t::text as row from platform.idempotency_keys t');
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toMatch(/jane|Parcel/);
  });
});

const answer = { status: 201, headers: { location: '/x' }, body: '{"a":1}' };
const FIRST = 'the first master key of this test, long';
const SECOND = 'the second master key of this test, long';

describe('A stored answer', () => {
  it('opens for the key that it was stored under, and for no other', () => {
    const sealed = new AnswerSeal({ MASTER_KEY: FIRST }, 'api-key', 'order-1').seal(answer);
    expect(new AnswerSeal({ MASTER_KEY: FIRST }, 'api-key', 'order-1').open(sealed)).toEqual(answer);
    expect(() => new AnswerSeal({ MASTER_KEY: FIRST }, 'api-key', 'order-2').open(sealed)).toThrow();
    expect(() => new AnswerSeal({ MASTER_KEY: FIRST }, 'other-key', 'order-1').open(sealed)).toThrow();
    expect(() => new AnswerSeal({ MASTER_KEY: SECOND }, 'api-key', 'order-1').open(sealed)).toThrow();
  });

  it('opens after a change of the master key while the previous one is configured', () => {
    const sealed = new AnswerSeal({ MASTER_KEY: FIRST }, 'api-key', 'order-1').seal(answer);
    const changed = { MASTER_KEY: SECOND, MASTER_KEY_PREVIOUS: FIRST };
    expect(new AnswerSeal(changed, 'api-key', 'order-1').open(sealed)).toEqual(answer);
    const anew = new AnswerSeal(changed, 'api-key', 'order-1').seal(answer);
    expect(new AnswerSeal({ MASTER_KEY: SECOND }, 'api-key', 'order-1').open(anew)).toEqual(answer);
  });
});
