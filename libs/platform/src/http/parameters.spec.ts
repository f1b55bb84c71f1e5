import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { problemIn, sampleCaller, type SampleApi, startSampleApi } from '#testing/http/sample-api';

describe('What a path and a query may look like', () => {
  let test: TestDatabase;
  let api: SampleApi;

  beforeAll(async () => {
    test = await createTestDatabase();
    api = await startSampleApi(test.url);
    api.keys.issue('key', sampleCaller(['topics:read'], 100_000));
    api.keys.issue('writer of notes', sampleCaller(['topics:write'], 100_000));
  });

  afterAll(async () => {
    await api.close();
    await test.drop();
  });

  const get = (path: string) => fetch(`${api.url}/api/v1${path}`, { headers: { 'x-api-key': 'key' } });

  it('has the e-mail address in its path checked', async () => {
    const answer = await get('/parcels/by-email/not-an-address');
    expect(answer.status).toBe(400);
    expect(await problemIn(answer)).toMatchObject({ errors: { email: 'is not an e-mail address' } });
    expect(await (await get('/parcels/by-email/%20Jane%2BNews@M%C3%BCnchen.example')).json()).toEqual({
      value: 'Jane+News@München.example',
      key: 'jane+news@xn--mnchen-3ya.example',
    });
  });

  it('has no parameter in its query that the operation does not know', async () => {
    const refused = await get('/parcels?size=0&sort=name&filter[x]=1');
    expect(refused.status).toBe(400);
    expect((await problemIn(refused))['errors']).toEqual({
      size: 'must be at least 1',
      sort: 'is not a known field',
      'filter[x]': 'is not a known field',
    });
    const without = await get('/parcels/raw/x?sort=name&__proto__=1');
    expect((await problemIn(without))['errors']).toMatchObject({ sort: 'is not a known field' });
    expect((await get('/parcels/nowhere/at-all?sort=name')).status).toBe(404);
    const note = await fetch(`${api.url}/api/v1/parcels/by-email/a@b.example?sort=name`, {
      method: 'POST',
      headers: { 'x-api-key': 'writer of notes', 'content-type': 'application/json' },
      body: '{"extra":1}',
    });
    expect((await problemIn(note))['errors']).toMatchObject({
      sort: 'is not a known field',
      extra: 'is not a known field',
    });
  });

  it('names 100 of the fields that are wrong, and how many more there are', async () => {
    const query = Array.from({ length: 1_000 }, (_, n) => `f${n}=1`).join('&');
    const { errors } = await problemIn(await get(`/parcels?${query}`));
    expect(Object.keys(errors as object)).toHaveLength(101);
    expect(errors).toMatchObject({ f0: 'is not a known field', '…': 'and 900 more' });
  });

  it('is a 400 with broken percent-encoding, request id included', async () => {
    const { status, headers, body } = await rawGet(api.url, '/api/v1/parcels/raw/%E0%A4%A');
    expect([status, headers['content-type']]).toEqual([400, 'application/problem+json']);
    expect(JSON.parse(body)).toMatchObject({
      status: 400,
      requestId: headers['x-request-id'],
      errors: { path: expect.any(String) },
    });
    expect(headers['x-ratelimit-limit']).toBe('100000');
  });

  it('counts against the key that is sent along, also where the path is broken and there is nothing at it', async () => {
    for (const path of ['/api/v1/nowhere/%zz', '/api/v1/parcels/by-email//%ff']) {
      const { status, headers } = await rawGet(api.url, path);
      expect([status, headers['x-ratelimit-limit']]).toEqual([400, '100000']);
      expect((await rawGet(api.url, path, 'unknown')).status).toBe(401);
    }
  });

  it('matters only to a key that may ask, also where the path is broken or too long', async () => {
    api.keys.issue('writer', sampleCaller(['topics:write'], 1));
    for (const path of ['/api/v1/parcels/by-email/%zz', `/api/v1/parcels/by-email/${'a'.repeat(5_000)}`]) {
      expect((await rawGet(api.url, path, 'unknown')).headers['www-authenticate']).toBe('Bearer');
      expect((await rawGet(api.url, path)).status).toBe(path.endsWith('%zz') ? 400 : 404);
    }
    const refused = await rawGet(api.url, '/api/v1/parcels/by-email/%zz', 'writer');
    expect([refused.status, refused.headers['x-ratelimit-remaining']]).toEqual([403, '0']);
    expect(JSON.parse(refused.body)).toMatchObject({ requiredScope: 'topics:read' });
    expect((await rawGet(api.url, '/api/v1/parcels/by-email/%zz', 'writer')).status).toBe(429);
  });

  it('is a problem, too, when the bytes are no request at all', async () => {
    const host = 'Host: mail.example\r\n\r\n';
    for (const [bytes, status, type] of [
      [`FOO /api/v1/parcels HTTP/1.1\r\n${host}`, 400, 'https://mail.example/problems/validation-error'],
      [`GET /api/v1/parcels HTTP/1.1\r\nX-Big: ${'a'.repeat(20_000)}\r\n${host}`, 431, 'about:blank'],
    ] as const) {
      const [head = '', body = ''] = (await sendBytes(api.url, bytes)).split('\r\n\r\n');
      expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(head).toContain('content-type: application/problem+json');
      const problem = JSON.parse(body) as Record<string, unknown>;
      expect(problem).toMatchObject({
        type,
        status,
        title: expect.any(String),
        timestamp: expect.any(String),
      });
      expect(head).toContain(`x-request-id: ${String(problem['requestId'])}`);
    }
  });

  it('is a problem with a request id also without a Host', async () => {
    const bytes = 'GET /api/v1/parcels HTTP/1.1\r\nX-API-Key: key\r\nConnection: close\r\n\r\n';
    const [head = '', body = ''] = (await sendBytes(api.url, bytes)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1.1 400 /);
    expect(head).toContain('content-type: application/problem+json');
    const problem = JSON.parse(body) as Record<string, unknown>;
    expect(problem).toMatchObject({ status: 400, errors: { Host: 'is required' } });
    expect(head).toContain(`x-request-id: ${String(problem['requestId'])}`);
  });

  it('may be written with the host before the path, and expect what we do not know', async () => {
    const request = (target: string, more: string) =>
      `GET ${target} HTTP/1.1\r\nHost: mail.example\r\nX-API-Key: key\r\n${more}Connection: close\r\n\r\n`;
    for (const bytes of [
      request('http://mail.example/api/v1/parcels?size=1', ''),
      request('/%61pi/v1/parcels?size=1', ''),
      request('/api/v1/parcels?size=1', 'Expect: the-unexpected\r\n'),
    ]) {
      const answer = await sendBytes(api.url, bytes);
      expect(answer).toMatch(/^HTTP\/1.1 200 /);
      expect(answer).toContain('cache-control: no-store');
      expect(answer).toContain('x-request-id: ');
    }
    const unknown = await sendBytes(api.url, request('http://mail.example/api/v1/nowhere?q=1', ''));
    expect(unknown).toMatch(/^HTTP\/1.1 404 /);
    expect(unknown).toContain('"instance":"/api/v1/nowhere"');
  });

  it('pages with page and size, and says where the neighbours are', async () => {
    const answer = await get('/parcels?size=20&page=1&status=ACTIVE&q=a%20b');
    expect(await answer.json()).toMatchObject({
      pagination: { page: 1, size: 20, totalElements: 45, totalPages: 3, hasNext: true, hasPrevious: true },
    });
    expect(answer.headers.get('link')).toBe(
      '<https://mail.example/api/v1/parcels?size=20&page=0&status=ACTIVE&q=a+b>; rel="prev", ' +
        '<https://mail.example/api/v1/parcels?size=20&page=2&status=ACTIVE&q=a+b>; rel="next"',
    );
    expect(await (await get('/parcels?size=1000')).json()).toMatchObject({
      pagination: { page: 0, size: 100, hasNext: false },
    });
    expect(await (await get(`/parcels?size=${'9'.repeat(400)}`)).json()).toMatchObject({
      pagination: { page: 0, size: 100 },
    });
    expect((await get('/parcels?size=100')).headers.get('link')).toBeNull();
  });

  it('is a 400 with a page or size that is none', async () => {
    const whole = 'must be an integer';
    const once = 'must be given once';
    const together = (other: string) => `must not be given together with ${other}`;
    for (const [query, errors] of [
      ['size=0', { size: 'must be at least 1' }],
      ['size=-1', { size: 'must be at least 1' }],
      ['page=-1', { page: 'must be at least 0' }],
      ['page=1.5', { page: whole }],
      ['size=ten', { size: whole }],
      ['page=', { page: whole }],
      ['page=1&page=2&status=ACTIVE&status=ACTIVE', { page: once, status: once }],
      ['page=1&after=', { page: together('after'), after: together('page') }],
      ['size=1e1', { size: whole }],
      ['page=99999999999999999999', { page: 'must be at most 2147483647' }],
    ] as const) {
      const answer = await get(`/parcels?${query}`);
      expect([query, answer.status]).toEqual([query, 400]);
      expect((await problemIn(answer))['errors']).toEqual(errors);
    }
  });
});

/** A request as it is written, where fetch would correct the path. */
function rawGet(
  url: string,
  path: string,
  key = 'key',
): Promise<{ status: number; headers: Record<string, unknown>; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number;
    headers: Record<string, unknown>;
    body: string;
  }>();
  httpRequest(url, { path, headers: { 'x-api-key': key } }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () =>
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: Buffer.concat(chunks).toString(),
      }),
    );
  })
    .on('error', reject)
    .end();
  return promise;
}

/** All that comes back for bytes that may be no HTTP. */
function sendBytes(url: string, bytes: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname, () => socket.write(bytes));
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  socket.on('close', () => resolve(answer)).on('error', reject);
  return promise;
}
