import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { problemIn, sampleCaller, type SampleApi, startSampleApi } from '#testing/http/sample-api';

describe('Who may come in', () => {
  let test: TestDatabase;
  let api: SampleApi;

  beforeAll(async () => {
    test = await createTestDatabase();
    api = await startSampleApi(test.url, { TRUST_PROXY: '127.0.0.1, 10.0.0.0/8' });
    api.keys.issue('reader', sampleCaller(['topics:read'], 10_000));
    api.keys.issue('writer', sampleCaller(['topics:write'], 10_000));
  });

  afterAll(async () => {
    await api.close();
    await test.drop();
  });

  const call = (path: string, init: RequestInit = {}) => fetch(`${api.url}/api/v1${path}`, init);

  it('takes the key from either header', async () => {
    for (const headers of [
      { 'x-api-key': 'reader' },
      { authorization: 'Bearer reader' },
      { authorization: 'bearer  reader' },
    ]) {
      expect((await call('/parcels', { headers })).status).toBe(200);
    }
  });

  it('refuses no key, an unknown one and two different ones with 401 and the same words', async () => {
    const attempts: Record<string, string>[] = [
      {},
      { 'x-api-key': 'nobody' },
      { authorization: 'Basic cmVhZGVyOg==' },
    ];
    const answers = await Promise.all(attempts.map((headers) => call('/parcels', { headers })));
    for (const answer of answers) {
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
      expect(answer.headers.get('x-ratelimit-limit')).toBeNull();
    }
    const details = await Promise.all(answers.map(async (answer) => (await problemIn(answer)).detail));
    expect(new Set(details).size).toBe(1);
    const two = await call('/parcels', {
      headers: { 'x-api-key': 'reader', authorization: 'Bearer writer' },
    });
    expect(two.status).toBe(401);
    const same = await call('/parcels', {
      headers: { 'x-api-key': 'reader', authorization: 'Bearer reader' },
    });
    expect(same.status).toBe(200);
  });

  it('looks at the key before the body, whatever the body is', async () => {
    const bodies: [string, string, number][] = [
      ['application/json', '{broken', 403],
      ['application/json', `"${'x'.repeat(2 * 1024 * 1024)}"`, 413],
      ['text/plain', 'hello', 403],
    ];
    for (const [type, body, status] of bodies) {
      const stranger = await call('/parcels', { method: 'POST', headers: { 'content-type': type }, body });
      expect(stranger.status).toBe(401);
      const reader = await call('/parcels', {
        method: 'POST',
        headers: { 'content-type': type, 'x-api-key': 'reader' },
        body,
      });
      expect([reader.status, reader.headers.get('x-ratelimit-limit')]).toEqual([status, '10000']);
      if (status === 403) expect(await reader.json()).toMatchObject({ requiredScope: 'topics:write' });
    }
  });

  it('says which scope is missing', async () => {
    const answer = await call('/parcels', { headers: { 'x-api-key': 'writer' } });
    expect(answer.status).toBe(403);
    expect(answer.headers.get('x-ratelimit-limit')).toBe('10000');
    expect(await answer.json()).toMatchObject({
      type: 'https://mail.example/problems/insufficient-scope',
      requiredScope: 'topics:read',
      status: 403,
      instance: '/api/v1/parcels',
    });
  });

  it('lets any valid key use an operation without a scope', async () => {
    expect((await call('/parcels/whoami', { headers: { 'x-api-key': 'writer' } })).status).toBe(200);
  });

  it('answers 404 for an unknown path and 405 with Allow for a wrong method', async () => {
    for (const path of ['/nope', '/parcels/', '/Parcels', '/parcels/1/2/3']) {
      const answer = await call(path, { headers: { 'x-api-key': 'reader' } });
      expect([path, answer.status]).toEqual([path, 404]);
      expect(answer.headers.get('x-ratelimit-remaining')).not.toBeNull();
    }
    expect((await call('/nope', { method: 'POST', body: 'x' })).status).toBe(404);
    expect((await call('/nope', { headers: { 'x-api-key': 'nobody' } })).status).toBe(401);
    const wrong = await call('/parcels', {
      method: 'PUT',
      headers: { 'x-api-key': 'reader' },
      body: '{broken',
    });
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS');
    const options = await call('/parcels', { method: 'OPTIONS' });
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD, POST, OPTIONS']);
  });

  it('answers HEAD like GET, without the body', async () => {
    expect((await call('/parcels', { method: 'HEAD' })).status).toBe(401);
    const answer = await call('/parcels', { method: 'HEAD', headers: { 'x-api-key': 'reader' } });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });

  it('answers 406 when JSON is not accepted, after key and scope', async () => {
    const headers = { 'x-api-key': 'reader', accept: 'text/html' };
    const refused = await call('/parcels', { headers });
    expect(refused.status).toBe(406);
    expect((await problemIn(refused)).type).toBe('https://mail.example/problems/not-acceptable');
    expect((await call('/parcels', { headers: { accept: 'text/html' } })).status).toBe(401);
    expect((await call('/parcels', { headers: { ...headers, accept: 'text/html, */*;q=0.1' } })).status).toBe(
      200,
    );
    expect(
      (await call('/parcels', { headers: { ...headers, accept: 'application/json;q=0, */*' } })).status,
    ).toBe(406);
    expect((await call('/parcels/export', { headers: { ...headers, accept: 'text/csv' } })).status).toBe(200);
  });

  it('believes the trusted proxy about the client, not the client about itself', async () => {
    const headers = { 'x-api-key': 'reader', 'x-forwarded-for': '6.6.6.6, 203.0.113.9, 10.0.0.3' };
    expect(await (await call('/parcels/whoami', { headers })).json()).toMatchObject({ ip: '203.0.113.9' });
    const junk = { 'x-api-key': 'reader', 'x-forwarded-for': "6.6.6.6, junk'--" };
    expect(await (await call('/parcels/whoami', { headers: junk })).json()).toMatchObject({
      ip: '127.0.0.1',
    });
  });

  it('decodes a path once and keeps a plus sign', async () => {
    const text = async (encoded: string) =>
      (
        (await (await call(`/parcels/raw/${encoded}`, { headers: { 'x-api-key': 'reader' } })).json()) as {
          text: string;
        }
      ).text;
    expect(await text('a%2Bb+c')).toBe('a+b+c');
    expect(await text('100%2525')).toBe('100%25');
    expect(await text('a%2Fb%40c')).toBe('a/b@c');
    expect(await text('%E2%82%AC')).toBe('€');
  });
});
