import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { API_SCOPES } from '#kernel';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { ApiClient as Client } from '#testing/http/api-client';
import { openApiDocument } from '#testing/http/openapi-validation';
import { runCliForJson } from '#testing/programs/operator-cli';
import { expectProblem, timelessProblem } from '#testing/http/problems';
import { prolongWindowOfKey } from '#testing/time/rate-limit-window';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const SLUGS = [
  'malformed-json',
  'validation-error',
  'confirmation-required',
  'unauthorized',
  'insufficient-scope',
  'not-found',
  'method-not-allowed',
  'not-acceptable',
  'payload-too-large',
  'unsupported-media-type',
  'already-exists',
  'invalid-state',
  'pre-send-rejected',
  'schedule-missing',
  'suppressed',
  'not-subscribed',
  'unsubscribed',
  'in-use',
  'idempotency-in-flight',
  'domain-validation',
  'idempotency-key-reused',
  'rate-limited',
  'internal-error',
  'unavailable',
];
/** Input that is no text to PostgreSQL, or a moment or page beyond what it can hold. */
const HOSTILE_REQUESTS: readonly (readonly [method: string, path: string, body?: object])[] = [
  ['GET', '/campaigns?topicKey=%00'],
  ['GET', '/subscribers?topicKey=%00'],
  ['GET', '/subscribers?q=%00'],
  ['GET', '/subscribers?createdAfter=0000-01-01T00:00:00%2B14:00&createdBefore=9999-12-31T23:59:59-14:00'],
  ['GET', '/messages?tag=%00'],
  ['GET', '/messages?templateKey=%00'],
  ['GET', '/templates?alias=%00'],
  ['GET', '/campaigns/APIT-001/deliveries?link=%00'],
  ['GET', '/test-inbox/messages?to=%00'],
  ['GET', '/test-inbox/messages/%00'],
  ['GET', '/test-inbox/messages/%00/raw'],
  ['GET', '/topics/%00'],
  ['GET', '/topics?page=2147483647&size=100'],
  ['GET', '/campaigns?page=2147483647&size=100'],
  ['GET', '/campaigns/%00'],
  ['POST', '/campaigns/%00/send'],
  ['GET', '/campaigns/%00/report/statistics'],
  ['GET', '/campaigns/%00/report/export'],
  ['GET', '/suppressions/a%00b%40example.com'],
  ['DELETE', '/subscribers/ada%40example.com/consents/%00'],
  ['POST', '/subscribers/ada%40example.com/consents/%00/resend'],
  ['GET', '/subscribers/%ff'],
  ['GET', '/subscribers/%'],
  ['GET', `/subscribers/${'a'.repeat(5_000)}`],
  ['POST', '/topics', { name: 'a\u0000b' }],
  ['POST', '/topics', { name: 'a', description: '\ud800' }],
  ['POST', '/campaigns', { name: 'a', subject: 'a', contentText: 'a\u0000b' }],
  ['POST', '/campaigns', { name: '\ud800', subject: '\udc00', contentText: '\ud800' }],
  [
    'POST',
    '/campaigns',
    { name: 'a', subject: 'a', contentJson: '{"blocks":[{"type":"text","html":"\\u0000\\ud800"}]}' },
  ],
  ['POST', '/campaigns', { name: 'a', subject: 'a', scheduledAt: '9999-12-31T23:59:59-23:59' }],
  ['POST', '/subscribers', { email: 'n@example.com', topicKeys: ['\u0000'], consent: { source: 'x' } }],
  [
    'POST',
    '/subscribers',
    { email: 'n@example.com', topicKeys: ['\ud800'], consent: { source: 'x', userAgent: '\u0000' } },
  ],
  ['POST', '/subscribers/ada%40example.com/consents', { topicKey: '\u0000', source: 'x' }],
];
const UNKNOWN_ID = '019aa3b5-0000-7000-8000-000000000000';

describe('problems', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let topicKey: string;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    topicKey = (await client.post('/topics', { name: 'News', doubleOptInEnabled: false })).at('topicKey');
    expect((await client.post('/subscribers', subscriber('ada@example.com'))).status).toBe(201);
  });
  afterAll(() => system?.stop());

  const subscriber = (email: string, more: object = {}) => ({
    email,
    topicKeys: [topicKey],
    consent: { source: 'form' },
    ...more,
  });
  const keyWithout = (...missing: string[]) =>
    project.client('TEST', { scopes: API_SCOPES.filter((scope) => !missing.includes(scope)) });
  const as = (key: string | null) => new Client(system.baseUrl, key);
  const errorsOf = (answer: ApiAnswer, status: 400 | 422): unknown => {
    const slug = status === 400 ? 'validation-error' : 'domain-validation';
    return expectProblem(answer, status, slug, { errors: expect.any(Object) })['errors'];
  };

  describe('a missing or invalid key is a 401', () => {
    const refused = async (answer: ApiAnswer): Promise<string> => {
      expectProblem(answer, 401, 'unauthorized');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      return timelessProblem(answer.text);
    };
    const statusOf = async (change: string): Promise<ApiAnswer> => {
      const revoked = await project.client('TEST');
      await system.database.query(
        `update access.api_keys set ${change} where last_four = $1 and environment_id = $2`,
        [revoked.key?.slice(-4), project.test.environmentId],
      );
      return revoked.get('/project');
    };

    it('that tells nothing about whether the key ever existed', async () => {
      const key = client.key ?? '';
      const other = key.endsWith('a') ? 'b' : 'a';
      const answers = [
        await as(null).get('/project'),
        await as('nonsense').get('/project'),
        await as(key.slice(0, -1) + other).get('/project'),
        await as(key.slice(0, -1)).get('/project'),
        await as(`${key}0`).get('/project'),
        await as(key.replace('mw_test', 'mw_live')).get('/project'),
        await as(null).get('/project', { headers: { authorization: 'Basic bXc6bXc=' } }),
        await statusOf('revoked_at = now()'),
        await statusOf(`expires_at = now() - interval '1 s', created_at = now() - interval '1 day'`),
      ];
      const texts = await Promise.all(answers.map(refused));
      expect(new Set(texts).size).toBe(1);
    });

    it('and so are two different keys, while the same key twice is fine', async () => {
      const other = await project.client('TEST');
      await refused(await client.get('/project', { headers: { authorization: `Bearer ${other.key}` } }));
      const twice = await client.get('/project', { headers: { authorization: `bearer ${client.key}` } });
      expect(twice.status).toBe(200);
      expect(
        (await as(null).get('/project', { headers: { authorization: `Bearer ${client.key}` } })).status,
      ).toBe(200);
    });

    it('also for unreadable bodies, unknown resources and unknown paths that come with a wrong key', async () => {
      await refused(await as('nonsense').post('/topics', '{'));
      await refused(await as('nonsense').get('/topics/APIT-999'));
      await refused(await as('nonsense').get('/nowhere'));
    });
  });

  it('name the scope that a key lacks, at every operation that needs one', async () => {
    const { paths } = await openApiDocument(system.baseUrl);
    const answered: string[] = [];
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        const scope = operation['x-required-scope'];
        if (scope === null || scope === undefined) continue;
        const url = path.replace('/api/v1', '').replaceAll(/\{\w+\}/g, 'unknown');
        // The body is unreadable and the resource unknown: the scope comes before both.
        const body = operation.requestBody === undefined ? {} : { body: '{' };
        const answer = await (await keyWithout(scope)).request(method.toUpperCase(), url, body);
        expectProblem(answer, 403, 'insufficient-scope', { requiredScope: scope });
        answered.push(operation.operationId);
      }
    }
    expect(answered.length).toBeGreaterThan(20);
  });

  it('are a 404 for unknown paths and resources', async () => {
    for (const path of ['/nowhere', '/topics/APIT-1/nothing', '/Topics', '/project/1']) {
      expectProblem(await client.get(`${path}?secret=1`), 404, 'not-found');
    }
    for (const path of ['/campaigns/APIT-999', '/topics/'])
      expectProblem(await client.get(path), 404, 'not-found');
    for (const path of ['/nowhere', '/api/v2/topics', '/api', '/problems/nothing']) {
      const answer = await fetch(`${system.baseUrl}${path}`, { headers: { accept: 'application/json' } });
      expect([path, answer.status, answer.headers.get('content-type')]).toEqual([
        path,
        404,
        'application/problem+json',
      ]);
    }
  });

  it('say which methods a path has', async () => {
    const allowed = async (method: string, path: string) => {
      const answer = await client.request(method, path, {});
      expectProblem(answer, 405, 'method-not-allowed', {
        detail: `Allowed here: ${answer.headers.get('allow')}.`,
      });
      return (answer.headers.get('allow') ?? '')
        .split(', ')
        .filter((name) => name !== 'HEAD' && name !== 'OPTIONS')
        .sort();
    };
    expect(await allowed('PUT', '/topics')).toEqual(['GET', 'POST']);
    expect(await allowed('DELETE', '/topics')).toEqual(['GET', 'POST']);
    expect(await allowed('POST', '/subscribers/ada%40example.com')).toEqual(
      expect.arrayContaining(['GET', 'PATCH']),
    );
    expect(await allowed('DELETE', '/project')).toEqual(['GET', 'PATCH']);
    expect(await allowed('GET', '/campaigns/APIT-001/send')).toEqual(['POST']);
  });

  it('are a 406 when nothing that the client accepts can be given', async () => {
    const accepting = (accept: string, path: string) => client.get(path, { headers: { accept } });
    expectProblem(await accepting('text/html', '/topics'), 406, 'not-acceptable');
    expectProblem(await accepting('application/xml, application/json;q=0', '/topics'), 406, 'not-acceptable');
    expectProblem(
      await accepting('application/json', '/campaigns/APIT-001/report/export'),
      406,
      'not-acceptable',
    );
    for (const accept of ['application/json', '*/*', 'application/*', 'text/html, */*;q=0.1']) {
      expect((await accepting(accept, '/topics')).status).toBe(200);
    }
  });

  it('are a 413 for a body that is too large, which a client that is still sending gets to see', async () => {
    const answers = await Promise.all(
      [1.1, 3, 6, 12].map((megabytes) => client.post('/topics', { name: 'x'.repeat(megabytes * 1e6) })),
    );
    for (const answer of answers) expectProblem(answer, 413, 'payload-too-large');
    const csv = await client.post('/subscribers', 'x'.repeat(6e6), {
      headers: { 'content-type': 'text/csv' },
    });
    expectProblem(csv, 415, 'unsupported-media-type');
  });

  it('are a 415 for anything but JSON', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/xml',
      'nonsense',
    ]) {
      const answer = await client.post('/topics', 'name=News', { headers: { 'content-type': type } });
      expectProblem(answer, 415, 'unsupported-media-type');
    }
    const patch = await client.request('PATCH', `/topics/${topicKey}`, {
      body: '{}',
      headers: { 'content-type': 'text/plain' },
    });
    expectProblem(patch, 415, 'unsupported-media-type');
    for (const type of [
      'application/json; charset=utf-8',
      'APPLICATION/JSON',
      'application/merge-patch+json',
    ]) {
      const answer = await client.request('PATCH', `/topics/${topicKey}`, {
        body: '{}',
        headers: { 'content-type': type },
      });
      expect([type, answer.status]).toEqual([type, 200]);
    }
  });

  it.each(['{', '{"name":"x",}', 'name', '{"name":"x"} x', "{'name':'x'}", '{"name":"a\nb"}', '\u00ff'])(
    'call %j malformed JSON',
    async (body) => {
      expectProblem(await client.post('/topics', body), 400, 'malformed-json');
    },
  );

  it('refuse bodies that are no object', async () => {
    for (const body of ['[]', '[{"name":"x"}]', '"x"', '1', 'true', 'null']) {
      expect(errorsOf(await client.post('/topics', body), 400)).toEqual({ body: expect.any(String) });
      expect(errorsOf(await client.request('PATCH', `/topics/${topicKey}`, { body }), 400)).toEqual({
        body: expect.any(String),
      });
    }
    expect(errorsOf(await client.request('POST', '/topics', {}), 400)).toMatchObject({ name: 'is required' });
  });

  it('refuse unknown fields, however deep, and where there is no body at all', async () => {
    const body = { ...subscriber('new@example.com'), nope: 1, consent: { source: 'form', foo: 'x' } };
    expect(errorsOf(await client.post('/subscribers', body), 400)).toEqual({
      nope: 'is not a known field',
      'consent.foo': 'is not a known field',
    });
    expect(errorsOf(await client.patch(`/topics/${topicKey}`, { topicKey: 'X-1', id: 1 }), 400)).toEqual({
      topicKey: 'is not a known field',
      id: 'is not a known field',
    });
    expect(errorsOf(await client.post('/campaigns/APIT-001/send', { now: true }), 400)).toEqual({
      now: 'is not a known field',
    });
    expect((await client.post('/topics', '{"name":"x","__proto__":{"a":1}}')).status).toBe(400);
  });

  it('name all fields that are wrong at once', async () => {
    const answer = await client.post('/subscribers', {
      email: 'nobody',
      topicKeys: [],
      firstName: 'x'.repeat(51),
      lastName: 7,
      phone: '0'.repeat(21),
      consent: { sourceUrl: 7, ipAddress: 999 },
    });
    expect(Object.keys(errorsOf(answer, 400) as object).sort()).toEqual([
      'consent.ipAddress',
      'consent.source',
      'consent.sourceUrl',
      'email',
      'firstName',
      'lastName',
      'phone',
      'topicKeys',
    ]);
    const mixed = await client.post(
      '/subscribers',
      subscriber('new@example.com', { topicKeys: [topicKey, 7, 'x', null] }),
    );
    expect(Object.keys(errorsOf(mixed, 400) as object)).toEqual(['topicKeys[1]', 'topicKeys[3]']);
    const unknown = await client.post('/subscribers', {
      ...subscriber('new@example.com', { topicKeys: ['APIT-98', topicKey, 'nonsense'] }),
      customFields: { shoe: 1 },
    });
    expect(Object.keys(errorsOf(unknown, 422) as object).sort()).toEqual([
      'customFields.shoe',
      'topicKeys[0]',
      'topicKeys[2]',
    ]);
  });

  it('are a 409 where the state refuses', async () => {
    expectProblem(await client.post('/subscribers', subscriber('ADA@example.com')), 409, 'already-exists');
    expectProblem(
      await client.post('/subscribers/ada%40example.com/consents', { topicKey, source: 'form' }),
      409,
      'already-exists',
    );
    await client.post('/suppressions', { email: 'gone@example.com' });
    expectProblem(await client.post('/subscribers', subscriber('gone@example.com')), 409, 'suppressed');
    const resend = await client.post(`/subscribers/ada%40example.com/consents/${topicKey}/resend`);
    expectProblem(resend, 409, 'invalid-state', {
      currentState: 'SUBSCRIBED',
      allowedStates: ['PENDING_CONFIRMATION'],
    });
  });

  it('ask for a confirmation without which an address stays suppressed', async () => {
    const lift = (headers: Readonly<Record<string, string>>) =>
      client.delete('/suppressions/gone%40example.com', { headers });
    expectProblem(await lift({}), 400, 'confirmation-required');
    for (const value of ['false', '1', '']) {
      expectProblem(await lift({ 'x-confirm-unsuppress': value }), 400, 'confirmation-required');
    }
  });

  describe('come in the order of their checks:', () => {
    it('429 before 403', async () => {
      const limited = await project.client('TEST', { scopes: ['topics:write'], rateLimitPerMinute: 1 });
      expectProblem(await limited.get('/topics'), 403, 'insufficient-scope', {
        requiredScope: 'topics:read',
      });
      await prolongWindowOfKey(system, limited.key!);
      const second = await limited.post('/subscribers', '{');
      expectProblem(second, 429, 'rate-limited');
      expect(Number(second.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    });

    it('403 before 400 and 404', async () => {
      const reader = await project.client('TEST', { scopes: ['topics:read'] });
      expectProblem(await reader.get('/subscribers?page=x'), 403, 'insufficient-scope', {
        requiredScope: 'subscribers:read',
      });
      expectProblem(await reader.patch('/subscribers/nobody', { nope: 1 }), 403, 'insufficient-scope', {
        requiredScope: 'subscribers:write',
      });
    });

    it('400 before 404', async () => {
      expect(
        errorsOf(await client.patch('/subscribers/nobody%40example.com', { firstName: 1 }), 400),
      ).toBeDefined();
      expect(errorsOf(await client.post('/subscribers/nobody%40example.com/consents', {}), 400)).toEqual({
        topicKey: 'is required',
        source: 'is required',
      });
      expect(errorsOf(await client.patch('/campaigns/APIT-999', { name: '' }), 400)).toBeDefined();
      expect(errorsOf(await client.get('/subscribers/nobody'), 400)).toEqual({ email: expect.any(String) });
    });

    it('404 before 422', async () => {
      const unknownTopic = { topicKey: 'APIT-999', source: 'form' };
      expectProblem(
        await client.post('/subscribers/nobody%40example.com/consents', unknownTopic),
        404,
        'not-found',
      );
      expectProblem(
        await client.patch('/subscribers/nobody%40example.com', { customFields: { shoe: 1 } }),
        404,
        'not-found',
      );
      expectProblem(await client.patch('/campaigns/APIT-999', { topicIds: [UNKNOWN_ID] }), 404, 'not-found');
    });

    it('422 before 409', async () => {
      const existing = subscriber('ada@example.com', { topicKeys: ['APIT-999'] });
      expect(errorsOf(await client.post('/subscribers', existing), 422)).toEqual({
        'topicKeys[0]': expect.any(String),
      });
      const suppressed = subscriber('gone@example.com', { topicKeys: ['APIT-999'] });
      expect(errorsOf(await client.post('/subscribers', suppressed), 422)).toEqual({
        'topicKeys[0]': expect.any(String),
      });
      const campaign = await client.post('/campaigns', { name: 'Old', subject: 'Old' });
      await system.database.query(`update messaging.campaigns set status = 'SENT' where id = $1`, [
        campaign.at('id'),
      ]);
      const patch = await client.patch(`/campaigns/${campaign.at('campaignKey')}`, {
        topicIds: [UNKNOWN_ID],
      });
      expect(errorsOf(patch, 422)).toEqual({ 'topicIds[0]': expect.any(String) });
    });
  });

  it.each(HOSTILE_REQUESTS.map((request) => ({ request, name: JSON.stringify(request).slice(0, 120) })))(
    'never are a 500: $name',
    async ({ request: [method, path, body] }) => {
      const answer = await client.request(method, path, body === undefined ? {} : { body });
      expect(answer.status).toBeLessThan(500);
      if (answer.status >= 400) expect(answer.headers.get('content-type')).toBe('application/problem+json');
    },
  );

  it('never are a 5xx, whatever parameter of whatever operation has a NUL', async () => {
    const making = ['operator-key:create', '--name', 'NUL', '--scopes', 'all'];
    const made = await runCliForJson(system.variables, making);
    const operator = new Client(system.baseUrl, String(made['key']), '/operator/v1');
    for (const caller of [client, operator]) {
      const { paths } = await openApiDocument(system.baseUrl, caller === operator ? caller.prefix : '');
      for (const [template, methods] of Object.entries(paths))
        for (const [method, { parameters = [] }] of Object.entries(methods))
          for (const { in: place, name } of parameters) {
            if (place !== 'query' && place !== 'path') continue;
            const path = template
              .slice(caller.prefix.length)
              .replaceAll(/\{(\w+)\}/g, (_all, part) => (part === name ? 'a%00b' : 'x'));
            const query = place === 'query' ? `?${name}=a%00b` : '';
            const { status } = await caller.request(method.toUpperCase(), path + query, {});
            const isRefused = place === 'query' ? status === 400 : status < 500;
            expect([method, path + query, status, isRefused]).toEqual([method, path + query, status, true]);
          }
    }
  });

  it('carry the request’s own id when it is usable, else a new one', async () => {
    const idOf = async (given: string) => {
      const answer = await client.get('/topics/APIT-999', { headers: { 'x-request-id': given } });
      expectProblem(answer, 404, 'not-found');
      return answer.headers.get('x-request-id');
    };
    for (const usable of ['a', 'Trace_1.2-3', 'x'.repeat(128)]) expect(await idOf(usable)).toBe(usable);
    for (const unusable of ['', ' ', 'x'.repeat(129), 'a b', 'a/b', 'é', 'a,b']) {
      const id = await idOf(unusable);
      expect(id).not.toBe(unusable);
      expect(id).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
    }
    expect(
      (await client.get('/project', { headers: { 'x-request-id': 'mine' } })).headers.get('x-request-id'),
    ).toBe('mine');
    expect((await fetch(`${system.baseUrl}/nowhere`)).headers.get('x-request-id')).toMatch(
      /^[A-Za-z0-9._-]{1,128}$/,
    );
    expect((await client.get('/subscribers/%ff')).headers.get('x-request-id')).toMatch(
      /^[A-Za-z0-9._-]{1,128}$/,
    );
  });

  it('tell their path without its query, which may hold an address', async () => {
    const answer = await client.get('/topics/APIT-999?email=ada@example.com');
    const unknown = { errors: { email: 'is not a known field' } };
    const problem = expectProblem(answer, 400, 'validation-error', unknown);
    expect(problem['instance']).toBe('/api/v1/topics/APIT-999');
  });

  it.each(SLUGS)('have a page: %s', async (slug) => {
    const page = await fetch(`${system.baseUrl}/problems/${slug}`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await page.text()).toContain(slug);
  });

  it('link to that page', async () => {
    const { type } = expectProblem(await client.get('/nowhere'), 404, 'not-found');
    expect((await fetch(String(type))).status).toBe(200);
  });
});
