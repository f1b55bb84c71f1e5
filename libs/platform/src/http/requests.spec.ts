import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { problemIn, sampleCaller, type SampleApi, startSampleApi } from '../../../../test/support/sample-api.js';

const JSON_HEADERS = { 'x-api-key': 'key', 'content-type': 'application/json' };

describe('What a request may look like', () => {
  let test: TestDatabase;
  let api: SampleApi;

  beforeAll(async () => {
    test = await createTestDatabase();
    api = await startSampleApi(test.url);
    api.keys.issue('key', sampleCaller(['topics:read', 'topics:write'], 100_000));
  });

  afterAll(async () => {
    await api.close();
    await test.drop();
  });

  const post = (path: string, body?: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = JSON_HEADERS) =>
    fetch(`${api.url}/api/v1${path}`, { method: 'POST', headers, ...(body === undefined ? {} : { body }) });
  const get = (path: string) => fetch(`${api.url}/api/v1${path}`, { headers: { 'x-api-key': 'key' } });

  it('gets every error of its fields at once, under dotted paths', async () => {
    const body = {
      name: 'far too long a name',
      kind: 'HUGE',
      email: 'jane@',
      consent: { sauce: 'web' },
      options: [{ value: 'a', label: 'A' }, { value: 7 }],
      colour: 'red',
    };
    const answer = await post('/parcels?verbose=1', JSON.stringify(body));
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    const problem = await problemIn(answer);
    expect(problem).toEqual({
      type: 'https://mail.example/problems/validation-error',
      title: 'The request is not valid',
      status: 400,
      detail: 'One or more fields are not valid.',
      instance: '/api/v1/parcels',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      requestId: answer.headers.get('x-request-id'),
      errors: {
        name: 'must be at most 10 characters',
        kind: 'must be one of SMALL, LARGE',
        email: 'is not an e-mail address',
        'consent.source': 'is required',
        'consent.sauce': 'is not a known field',
        'options[1].value': 'must be a string',
        'options[1].label': 'is required',
        colour: 'is not a known field',
      },
    });
  });

  it('has every required field named when the body is missing or empty', async () => {
    const errors = { name: 'is required', consent: 'is required' };
    for (const answer of [await post('/parcels'), await post('/parcels', ''), await post('/parcels', '{}'), await post('/parcels', undefined, { 'x-api-key': 'key' })]) {
      expect(answer.status).toBe(400);
      expect(await problemIn(answer)).toMatchObject({ type: expect.stringContaining('/validation-error'), errors });
    }
  });

  it('must be an object', async () => {
    for (const body of ['[]', 'null', '"text"', '7']) {
      const answer = await post('/parcels', body);
      expect(answer.status).toBe(400);
      expect(await problemIn(answer)).toMatchObject({ errors: { body: 'must be an object' } });
    }
  });

  it('is refused as malformed JSON when it is', async () => {
    const bodies = ['{', '{"name": }', 'name=x', '{"__proto__": {"a": 1}}', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])];
    for (const body of bodies) {
      const answer = await post('/parcels', body);
      expect([body, answer.status]).toEqual([body, 400]);
      const problem = await problemIn(answer);
      expect(problem).toMatchObject({ type: expect.stringContaining('/malformed-json') });
      expect(problem).not.toHaveProperty('errors');
    }
  });

  it('survives a body that is nested without end', async () => {
    const answer = await post('/parcels', `{"name":"x","consent":{"source":"s"},"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
    expect(answer.status).toBe(400);
  });

  it('is 415 with another content type, another encoding or none, and 413 when it is too large', async () => {
    const types = ['text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'multipart/form-data; boundary=x', 'nonsense'];
    for (const type of types) {
      const answer = await post('/parcels', '{"name":"x"}', { 'x-api-key': 'key', 'content-type': type });
      expect([type, answer.status]).toEqual([type, 415]);
      expect(await problemIn(answer)).toMatchObject({ type: expect.stringContaining('/unsupported-media-type') });
    }
    expect((await post('/parcels', '{}', { ...JSON_HEADERS, 'content-encoding': 'gzip' })).status).toBe(415);
    expect((await post('/parcels', new Uint8Array([123, 125]), { 'x-api-key': 'key' })).status).toBe(415);
    const large = await post('/parcels', `{"name":"${'x'.repeat(1024 * 1024)}"}`);
    expect(large.status).toBe(413);
    expect(await problemIn(large)).toMatchObject({ type: expect.stringContaining('/payload-too-large') });
  });

  it('may be written in any JSON dialect and charset parameter', async () => {
    const body = JSON.stringify({ name: 'x', consent: { source: 'web' } });
    for (const type of ['application/json; charset=utf-8', 'application/merge-patch+json', 'Application/JSON']) {
      expect((await post('/parcels', body, { 'x-api-key': 'key', 'content-type': type })).status).toBe(201);
    }
  });

  it('needs no body where none is documented, and none but an empty object is taken', async () => {
    for (const answer of [
      await post('/parcels/1/send', undefined, { 'x-api-key': 'key' }),
      await post('/parcels/1/send', ''),
      await post('/parcels/1/send', '{}'),
      await post('/parcels/1/send', '', { 'x-api-key': 'key', 'content-type': 'text/plain' }),
    ]) {
      expect(answer.status).toBe(200);
    }
    const answer = await post('/parcels/1/send', '{"now":true}');
    expect(answer.status).toBe(400);
    expect(await problemIn(answer)).toMatchObject({ errors: { now: 'is not a known field' } });
    expect((await post('/parcels/1/send', '[]')).status).toBe(400);
  });

  it('changes nothing with an empty PATCH', async () => {
    const init = { method: 'PATCH', headers: JSON_HEADERS, body: '{}' };
    expect((await fetch(`${api.url}/api/v1/parcels/3`, init)).status).toBe(200);
  });

  it('has the e-mail address in its path checked', async () => {
    const answer = await get('/parcels/by-email/not-an-address');
    expect(answer.status).toBe(400);
    expect(await problemIn(answer)).toMatchObject({ errors: { email: 'is not an e-mail address' } });
    expect(await (await get('/parcels/by-email/%20Jane%2BNews@M%C3%BCnchen.example')).json()).toEqual({
      value: 'Jane+News@München.example',
      key: 'jane+news@xn--mnchen-3ya.example',
    });
  });

  it('is a 400 with broken percent-encoding, request id included', async () => {
    const { status, headers, body } = await rawGet(api.url, '/api/v1/parcels/raw/%E0%A4%A');
    expect([status, headers['content-type']]).toEqual([400, 'application/problem+json']);
    expect(JSON.parse(body)).toMatchObject({ status: 400, requestId: headers['x-request-id'], errors: { path: expect.any(String) } });
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
    expect(await (await get('/parcels?size=1000')).json()).toMatchObject({ pagination: { page: 0, size: 100, hasNext: false } });
    expect((await get('/parcels?size=100')).headers.get('link')).toBeNull();
  });

  it('is a 400 with a page or size that is none', async () => {
    for (const [query, field] of [['size=0', 'size'], ['size=-1', 'size'], ['page=-1', 'page'], ['page=1.5', 'page'], ['size=ten', 'size'], ['page=', 'page'], ['page=1&page=2', 'page'], ['size=1e1', 'size'], ['page=99999999999999999999', 'page']]) {
      const answer = await get(`/parcels?${query}`);
      expect([query, answer.status]).toEqual([query, 400]);
      expect(Object.keys((await problemIn(answer))['errors'] as object)).toEqual([field]);
    }
  });
});

/** A request as it is written, where fetch would correct the path. */
function rawGet(url: string, path: string): Promise<{ status: number; headers: Record<string, unknown>; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; headers: Record<string, unknown>; body: string }>();
  httpRequest(url, { path, headers: { 'x-api-key': 'key' } }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () =>
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString() }),
    );
  })
    .on('error', reject)
    .end();
  return promise;
}
