import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { problemIn, sampleCaller, type SampleApi, startSampleApi } from '#testing/http/sample-api';

const JSON_HEADERS = { 'x-api-key': 'key', 'content-type': 'application/json' };

describe('What a body may look like', () => {
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

  const post = (
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = JSON_HEADERS,
  ) =>
    fetch(`${api.url}/api/v1${path}`, { method: 'POST', headers, ...(body === undefined ? {} : { body }) });

  it('gets every error of its fields at once, under dotted paths', async () => {
    const body = {
      name: 'far too long a name',
      kind: 'HUGE',
      email: 'jane@',
      consent: { sauce: 'web' },
      options: [{ value: 'a', label: 'A' }, { value: 7 }],
      colour: 'red',
    };
    const answer = await post('/parcels', JSON.stringify(body));
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

  it('gets what is wrong with its path and query reported beside it', async () => {
    for (const [path, body, errors] of [
      ['jane?page=-1', '{"size":1}', ['email', 'page', 'text', 'size']],
      ['jane?page=0', '{"text":"x"}', ['email']],
      ['jane@example.com?size=0', '{"text":"x"}', ['size']],
    ] as const) {
      const answer = await post(`/parcels/by-email/${path}`, body);
      expect([path, answer.status]).toEqual([path, 400]);
      const reported = Object.keys((await problemIn(answer))['errors'] as object);
      expect(reported.sort()).toEqual([...errors].sort());
    }
    expect((await post('/parcels/by-email/jane@example.com', '{"text":"x"}')).status).toBe(204);
  });

  it('has every required field named when the body is missing or empty', async () => {
    const errors = { name: 'is required', consent: 'is required' };
    for (const answer of [
      await post('/parcels'),
      await post('/parcels', ''),
      await post('/parcels', '{}'),
      await post('/parcels', undefined, { 'x-api-key': 'key' }),
    ]) {
      expect(answer.status).toBe(400);
      expect(await problemIn(answer)).toMatchObject({
        type: expect.stringContaining('/validation-error'),
        errors,
      });
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
    const bodies = ['{', '{"name": }', 'name=x', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])];
    for (const body of bodies) {
      const answer = await post('/parcels', body);
      expect([body, answer.status]).toEqual([body, 400]);
      const problem = await problemIn(answer);
      expect(problem).toMatchObject({ type: expect.stringContaining('/malformed-json') });
      expect(problem).not.toHaveProperty('errors');
    }
  });

  it('is refused for a field that stands for a prototype, as for any unknown field', async () => {
    for (const [body, errors] of [
      ['{"name":"x","__proto__":{"a":1}}', ['__proto__']],
      [
        '{"options":[{"\\u005f_proto__":1}],"constructor":{"prototype":{}}}',
        ['options[0].__proto__', 'constructor'],
      ],
    ] as const) {
      const answer = await post('/parcels', body);
      expect([body, answer.status]).toEqual([body, 400]);
      const problem = await problemIn(answer);
      expect(problem['type']).toMatch(/\/validation-error$/);
      expect(problem['errors']).toEqual(
        Object.fromEntries(errors.map((path) => [path, 'is not a known field'])),
      );
    }
    const harmless = await post('/parcels', '{"name":"x","consent":{"source":"s"},"constructor":1}');
    expect((await problemIn(harmless))['errors']).toEqual({ constructor: 'is not a known field' });
  });

  it('survives a body that is nested without end', async () => {
    const answer = await post(
      '/parcels',
      `{"name":"x","consent":{"source":"s"},"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    );
    expect(answer.status).toBe(400);
  });

  it('is 415 with another content type, another encoding or none, and 413 when it is too large', async () => {
    const types = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/xml',
      'multipart/form-data; boundary=x',
      'nonsense',
    ];
    for (const type of types) {
      const answer = await post('/parcels', '{"name":"x"}', { 'x-api-key': 'key', 'content-type': type });
      expect([type, answer.status]).toEqual([type, 415]);
      expect(await problemIn(answer)).toMatchObject({
        type: expect.stringContaining('/unsupported-media-type'),
      });
    }
    expect((await post('/parcels', '{}', { ...JSON_HEADERS, 'content-encoding': 'gzip' })).status).toBe(415);
    expect((await post('/parcels', new Uint8Array([123, 125]), { 'x-api-key': 'key' })).status).toBe(415);
    const large = await post('/parcels', `{"name":"${'x'.repeat(1024 * 1024)}"}`);
    expect(large.status).toBe(413);
    expect(await problemIn(large)).toMatchObject({
      type: expect.stringContaining('/payload-too-large'),
      detail: 'It may have at most 1 MB.',
    });
  });

  it('may be written in any JSON dialect and charset parameter', async () => {
    const body = JSON.stringify({ name: 'x', consent: { source: 'web' } });
    for (const type of [
      'application/json; charset=utf-8',
      'application/merge-patch+json',
      'Application/JSON',
    ]) {
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

  it('may be a stream or JSON, where the operation takes both', async () => {
    const csv = await post('/parcels/import', 'a\nb\n', {
      'x-api-key': 'key',
      'content-type': 'text/csv; charset=utf-8',
    });
    expect([csv.status, await csv.json()]).toEqual([202, { bytes: 4 }]);
    expect((await post('/parcels/import', '{"rows":["a"]}')).status).toBe(202);
    const wrong = await post('/parcels/import', '{"rows":["a","b","c","d"],"x":1}');
    expect(await problemIn(wrong)).toMatchObject({
      status: 400,
      errors: { rows: 'must have at most 3 items', x: 'is not a known field' },
    });
    const compressed = await post('/parcels/import', 'a\n', {
      'x-api-key': 'key',
      'content-type': 'text/csv',
      'content-encoding': 'gzip',
    });
    expect(await problemIn(compressed)).toMatchObject({
      status: 415,
      detail: 'A compressed body is not supported.',
    });
    const large = new Uint8Array(3 * 1024 * 1024).fill(97);
    expect(
      await (await post('/parcels/import', large, { 'x-api-key': 'key', 'content-type': 'text/csv' })).json(),
    ).toEqual({ bytes: large.length });
  });

  it('changes nothing with an empty PATCH', async () => {
    const init = { method: 'PATCH', headers: JSON_HEADERS, body: '{}' };
    expect((await fetch(`${api.url}/api/v1/parcels/3`, init)).status).toBe(200);
  });
});
