import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { problemIn, sampleCaller, type SampleApi, startSampleApi } from '#testing/http/sample-api';
import { SHELVES } from '#testing/http/sample-conflicts';

interface LogLine {
  readonly msg: string;
  readonly requestId?: string;
  readonly [field: string]: unknown;
}

describe('What the api answers', () => {
  let test: TestDatabase;
  let api: SampleApi;
  const lines: LogLine[] = [];

  beforeAll(async () => {
    test = await createTestDatabase();
    await test.query(SHELVES);
    api = await startSampleApi(test.url, {}, { log: (line) => lines.push(JSON.parse(line) as LogLine) });
    api.keys.issue('key', sampleCaller(['topics:read', 'topics:write'], 100_000));
  });

  beforeEach(() => void lines.splice(0));

  afterAll(async () => {
    await api.close();
    await test.drop();
  });

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${api.url}/api/v1${path}`, { headers: { 'x-api-key': 'key', ...headers } });
  const lineOf = (message: string) => eventually(message, () => lines.find(({ msg }) => msg === message));

  it('holds documented properties only, and nulls', async () => {
    const answer = await get('/parcels');
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('x-powered-by')).toBeNull();
    const { data } = (await answer.json()) as { data: unknown[] };
    expect(data[0]).toEqual({
      id: 1,
      name: 'Parcel 1',
      note: null,
      calls: 0,
      createdAt: '2026-11-21T06:00:00.000Z',
    });
  });

  it('is a 500 when a view forgets a required property, so that its first test finds out', async () => {
    expect((await get('/parcels/fails/incomplete')).status).toBe(500);
  });

  it('turns what the domain refuses into its problem, with its members', async () => {
    const missing = await get('/parcels/fails/missing');
    expect(missing.status).toBe(404);
    const state = await get('/parcels/fails/state');
    expect(state.status).toBe(409);
    expect(await problemIn(state)).toMatchObject({
      type: 'https://mail.example/problems/invalid-state',
      detail: 'It is on its way.',
      currentState: 'SENDING',
      allowedStates: ['DRAFT'],
      instance: '/api/v1/parcels/fails/state',
    });
  });

  it('gives errors with 422', async () => {
    const answer = await fetch(`${api.url}/api/v1/parcels`, {
      method: 'POST',
      headers: { 'x-api-key': 'key', 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'unknown', consent: { source: 'web' } }),
    });
    expect(answer.status).toBe(422);
    expect(await problemIn(answer)).toMatchObject({
      type: 'https://mail.example/problems/domain-validation',
      errors: { 'topicKeys[0]': 'is not a topic of this project' },
    });
  });

  it('tells nothing about an unforeseen error, but logs it once with the request id', async () => {
    const answer = await get('/parcels/fails/badly', { 'x-request-id': 'trace-500' });
    expect(answer.status).toBe(500);
    expect(answer.headers.get('x-ratelimit-remaining')).not.toBeNull();
    const problem = await problemIn(answer);
    expect(JSON.stringify(problem)).not.toMatch(/duplicate|jane|Error|stack/);
    expect(problem).toMatchObject({
      type: 'https://mail.example/problems/internal-error',
      requestId: 'trace-500',
    });
    const line = await lineOf('request failed');
    expect(line).toMatchObject({
      requestId: 'trace-500',
      method: 'GET',
      route: '/api/v1/parcels/fails/:how',
    });
    expect(lines.filter(({ msg }) => msg === 'request failed')).toHaveLength(1);
  });

  it('is a 503 with Retry-After when the database goes away or another part does not answer', async () => {
    const asked = get('/parcels/fails/database');
    await eventually('the connection is cut', () =>
      test
        .query(`select pg_terminate_backend(pid) from pg_stat_activity
        where pid <> pg_backend_pid() and query like '%ends_before_its_time%'`)
        .then((rows) => rows.length > 0),
    );
    const database = await asked;
    expect([database.status, database.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await problemIn(database)).not.toHaveProperty('detail');
    const worker = await get('/parcels/fails/unavailable');
    expect([worker.status, worker.headers.get('retry-after')]).toEqual([503, '7']);
    expect(await problemIn(worker)).not.toHaveProperty('retryAfterSeconds');
  });

  it('is a 404 when something went while the request was about to refer to it', async () => {
    const answer = await get('/parcels/fails/refers-to-nothing');
    expect(answer.status).toBe(404);
    const problem = await problemIn(answer);
    expect(problem).toMatchObject({ type: 'https://mail.example/problems/not-found' });
    expect(JSON.stringify(problem)).not.toMatch(/books|shelves/);
    expect(await lineOf('request could not be served')).toMatchObject({ err: { code: '23503' } });
  });

  it('is a 503 when the path names nothing, so that a repetition is told what the body names in vain', async () => {
    const answer = await fetch(`${api.url}/api/v1/parcels`, {
      method: 'POST',
      headers: { 'x-api-key': 'key', 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'orphan', consent: { source: 'web' } }),
    });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
  });

  it('is a 500 when it would remove what others refer to: a fault of ours, that is logged', async () => {
    expect((await get('/parcels/fails/removes-what-is-referred-to')).status).toBe(500);
    expect(await lineOf('request failed')).toMatchObject({ err: { code: '23503' } });
  });

  it.each(['deadlock', 'not-serializable'])(
    'is a 503 with Retry-After when two get in each other’s way (%s)',
    async (conflict) => {
      const answer = await get(`/parcels/fails/${conflict}`);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    },
  );

  it('takes over a usable request id and makes a new one otherwise', async () => {
    expect((await get('/parcels', { 'x-request-id': 'a.B_c-1' })).headers.get('x-request-id')).toBe(
      'a.B_c-1',
    );
    for (const unusable of ['with space', 'x'.repeat(129), 'a/b']) {
      const id = (await get('/parcels', { 'x-request-id': unusable })).headers.get('x-request-id');
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
    }
    const unknown = await fetch(`${api.url}/nope`, { headers: { 'x-request-id': 'lost' } });
    expect(unknown.headers.get('x-request-id')).toBe('lost');
  });

  it('writes one line a request, with the route in place of the path', async () => {
    await get('/parcels/by-email/jane@example.com', { 'x-request-id': 'trace-1' });
    const line = await lineOf('request');
    expect(line).toMatchObject({
      requestId: 'trace-1',
      method: 'GET',
      route: '/api/v1/parcels/by-email/:email',
      status: 200,
      ms: expect.any(Number),
      keyId: expect.any(String),
    });
    expect(await lineOf('looks for [address]')).toMatchObject({ requestId: 'trace-1', asked: '[address]' });
    expect(JSON.stringify(lines)).not.toContain('jane');
  });

  it('is a body of another type when the operation says so', async () => {
    const answer = await get('/parcels/export');
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(await answer.text()).toBe('a,b\r\n');
  });
});
