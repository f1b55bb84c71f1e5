import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { API_SCOPES, type ApiScope } from '#kernel';
import { ApiClient, type ApiAnswer } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { prolongWindow } from '#testing/time/rate-limit-window';
import { addKey, type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const MANAGE = 'keys:manage';
const HOUR_MS = 3_600_000;
const FORM = /^mw_test_[0-9A-Za-z]{42}$/;
const GENERATIONS = 10;
const RACES = 10;

type Wanted = Readonly<Record<string, unknown>>;

describe('API keys by API', () => {
  let system: SharedSystem;
  let project: SystemProject;
  /** With all scopes. */
  let owner: ApiClient;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    owner = await project.client('TEST');
  });
  afterAll(() => system?.stop());

  const withKey = (key: string) => new ApiClient(system.baseUrl, key);
  const make = async (by: ApiClient, wanted: Wanted) => {
    const answer = await by.post('/api-keys', { name: 'Made', ...wanted });
    expect([answer.status, answer.text]).toEqual([201, answer.text]);
    return { id: answer.at('id'), client: withKey(answer.at('key')), answer };
  };
  const rowOf = async (id: string, by = owner) => (await by.get(`/api-keys/${id}`)).body as Wanted;
  const refusal = (answer: ApiAnswer): unknown =>
    expectProblem(answer, 422, 'domain-validation', { errors: expect.anything() })['errors'];

  const invalid = (answer: ApiAnswer): unknown =>
    expectProblem(answer, 400, 'validation-error', { errors: expect.anything() })['errors'];

  it('are made, shown once, and used in the environment of the key that asks', async () => {
    const current = await owner.get('/api-keys/current');
    const answer = await owner.post('/api-keys', {
      name: '  Shop ',
      scopes: ['topics:read', 'topics:read', 'topics:write'],
      expiresAt: '2031-01-01T00:00:00Z',
      rateLimitPerMinute: 500,
      allowedNetworks: ['127.0.0.1', '::1', '127.0.0.1/32', '2001:DB8::/32'],
    });
    expect(answer.status).toBe(201);
    const { key, ...shown } = answer.body as Wanted & { readonly key: string };
    expect(key).toMatch(FORM);
    expect(shown).toEqual({
      id: expect.any(String),
      name: 'Shop',
      prefix: 'mw_test_',
      lastFour: key.slice(-4),
      status: 'ACTIVE',
      scopes: ['topics:read', 'topics:write'],
      expiresAt: '2031-01-01T00:00:00.000Z',
      rateLimitPerMinute: 500,
      allowedNetworks: ['127.0.0.1/32', '::1/128', '2001:db8::/32'],
      lastUsedAt: null,
      createdBy: current.at('id'),
      replacedBy: null,
      revokedAt: null,
      createdAt: expect.any(String),
      updatedAt: shown['createdAt'],
    });
    expect(answer.headers.get('location')).toBe(`/api/v1/api-keys/${String(shown['id'])}`);
    expect(await rowOf(String(shown['id']))).toEqual(shown);
    const listed = await owner.get('/api-keys');
    expect(listed.at('data', 0)).toEqual(shown);
    expect(listed.text).not.toContain(key);
    expect((await withKey(key).get('/topics')).headers.get('x-ratelimit-limit')).toBe('500');
    expect((await withKey(key).get('/api-keys/current')).at('id')).toBe(shown['id']);
    expectProblem(await withKey(key).get('/api-keys'), 403, 'insufficient-scope', { requiredScope: MANAGE });
    expect((await withKey(key).get('/project')).at('environment')).toBe('TEST');
    expect(current.body).toMatchObject({ createdBy: 'OPERATOR', scopes: [...API_SCOPES] });
  });

  it('are made once by a request that is repeated, which is answered with the same key', async () => {
    const once = { headers: { 'idempotency-key': 'one key' } };
    const body = { name: 'Once', scopes: ['topics:read'] };
    const [first, second] = [
      await owner.post('/api-keys', body, once),
      await owner.post('/api-keys', body, once),
    ];
    expect(second.at('key')).toBe(first.at('key'));
    const kept = await system.database.query<{ text: string }>(
      `select row_to_json(k)::text as text from platform.idempotency_keys k where environment_id = $1`,
      [project.test.environmentId],
    );
    expect(kept.length).toBeGreaterThan(0);
    expect(JSON.stringify(kept)).not.toContain(first.at('key').slice('mw_test_'.length));
  });

  it('have nothing that the key which asks has not got itself', async () => {
    const end = new Date(Date.now() + HOUR_MS).toISOString();
    const { client, answer } = await make(owner, {
      scopes: [MANAGE, 'topics:read'],
      expiresAt: end,
      rateLimitPerMinute: 1_000,
      allowedNetworks: ['127.0.0.0/8', '2001:db8::/32'],
    });
    const beyond = await client.post('/api-keys', {
      name: 'More',
      scopes: ['topics:read', 'topics:write', 'subscribers:read', MANAGE],
      expiresAt: new Date(Date.now() + 2 * HOUR_MS).toISOString(),
      rateLimitPerMinute: 1_001,
      allowedNetworks: ['127.1.0.0/16', '0.0.0.0/0', '2001:d00::/24'],
    });
    const networks = 'must be within 127.0.0.0/8, 2001:db8::/32, as the key that asks';
    expect(refusal(beyond)).toEqual({
      'scopes[1]': 'topics:write is no scope of the key that asks',
      'scopes[2]': 'subscribers:read is no scope of the key that asks',
      expiresAt: `must be at most ${end}, the end of the key that asks`,
      rateLimitPerMinute: 'must be at most 1000, the limit of the key that asks',
      'allowedNetworks[1]': networks,
      'allowedNetworks[2]': networks,
    });
    expect(
      refusal(await client.post('/api-keys', { name: 'x', scopes: [MANAGE], allowedNetworks: [] })),
    ).toEqual({ allowedNetworks: networks });
    const { answer: heir } = await make(client, { scopes: ['topics:read'] });
    for (const field of ['expiresAt', 'rateLimitPerMinute', 'allowedNetworks'])
      expect([field, heir.at(field)]).toEqual([field, answer.at(field)]);
    const { client: usual } = await make(
      withKey(await addKey(system.database, project.test, { rateLimitPerMinute: null })),
      {
        scopes: [MANAGE],
      },
    );
    expect(
      refusal(await usual.post('/api-keys', { name: 'x', scopes: [MANAGE], rateLimitPerMinute: 61 })),
    ).toEqual({ rateLimitPerMinute: 'must be at most 60, the limit of the key that asks' });
  });

  it('never gain a scope, whoever makes, changes or rotates whom, through ten generations', async () => {
    const mine = await system.project();
    let asking = await mine.client('TEST');
    let had: readonly string[] = API_SCOPES;
    for (let generation = 1; generation <= GENERATIONS; generation += 1) {
      const own = API_SCOPES.filter((scope) => scope === MANAGE || (had.includes(scope) && randomInt(4) > 0));
      const wanted = API_SCOPES.filter((scope) => own.includes(scope) || randomInt(4) === 0);
      const beyond = wanted.filter((scope) => !had.includes(scope));
      const attempt = await asking.post('/api-keys', { name: 'Next', scopes: wanted });
      if (beyond.length === 0) expect(attempt.status).toBe(201);
      else
        expect(refusal(attempt)).toEqual(
          Object.fromEntries(
            beyond.map((scope) => [
              `scopes[${wanted.indexOf(scope)}]`,
              `${scope} is no scope of the key that asks`,
            ]),
          ),
        );
      const { client, id } = await make(asking, { scopes: own });
      const rotated = await client.post(`/api-keys/${id}/rotate`, { overlapHours: 0 });
      expect(rotated.at<ApiScope[]>('scopes').toSorted()).toEqual(own.toSorted());
      asking = withKey(rotated.at('key'));
      had = own;
    }
    const list = (await (await mine.client('TEST')).get('/api-keys?size=100')).at<Wanted[]>('data');
    const byId = new Map(list.map((key) => [key['id'], key]));
    const scopesOf = (key: Wanted | undefined) => (key?.['scopes'] ?? []) as string[];
    for (const key of list) {
      const maker = byId.get(key['createdBy']);
      if (maker !== undefined)
        expect(scopesOf(key).filter((scope) => !scopesOf(maker).includes(scope))).toEqual([]);
    }
    expect(list.length).toBeGreaterThan(2 * GENERATIONS);
  });

  it('are not changed or rotated by a key that has less, but revoked', async () => {
    const { id, answer } = await make(owner, { scopes: ['topics:read', 'topics:write', MANAGE] });
    const { client: poor } = await make(owner, {
      scopes: ['topics:read', MANAGE],
      rateLimitPerMinute: 100,
      allowedNetworks: ['127.0.0.1'],
      expiresAt: new Date(Date.now() + HOUR_MS).toISOString(),
    });
    const errors = {
      'scopes[1]': expect.any(String),
      expiresAt: expect.any(String),
      rateLimitPerMinute: expect.any(String),
      allowedNetworks: expect.any(String),
    };
    expect(refusal(await poor.post(`/api-keys/${id}/rotate`, {}))).toEqual(errors);
    expect(refusal(await poor.patch(`/api-keys/${id}`, { name: 'Mine' }))).toEqual(errors);
    const { key: _key, ...made } = answer.body as Wanted;
    expect(await rowOf(id)).toEqual(made);
    expect((await poor.delete(`/api-keys/${id}`)).status).toBe(204);
  });

  it('do not widen themselves', async () => {
    const { id, client } = await make(owner, {
      scopes: [MANAGE],
      rateLimitPerMinute: 100,
      allowedNetworks: ['127.0.0.0/8'],
    });
    const path = `/api-keys/${id}`;
    expect(refusal(await client.patch(path, { rateLimitPerMinute: 101 }))).toEqual({
      rateLimitPerMinute: 'must be at most 100, the limit of the key that asks',
    });
    for (const allowedNetworks of [null, []])
      expect(refusal(await client.patch(path, { allowedNetworks }))).toEqual({
        allowedNetworks: 'must be within 127.0.0.0/8, as the key that asks',
      });
    expect(refusal(await client.patch(path, { allowedNetworks: ['126.0.0.0/7'] }))).toEqual({
      'allowedNetworks[0]': 'must be within 127.0.0.0/8, as the key that asks',
    });
    const narrower = await client.patch(path, {
      name: 'Less',
      rateLimitPerMinute: 90,
      allowedNetworks: ['127.0.0.1'],
    });
    expect(narrower.body).toMatchObject({
      name: 'Less',
      rateLimitPerMinute: 90,
      allowedNetworks: ['127.0.0.1/32'],
    });
    const wider = await owner.patch(path, { rateLimitPerMinute: null, allowedNetworks: null });
    expect(wider.body).toMatchObject({ name: 'Less', rateLimitPerMinute: null, allowedNetworks: [] });
    for (const body of [{ scopes: [...API_SCOPES] }, { expiresAt: null }])
      expect(invalid(await owner.patch(path, body))).toEqual(
        Object.fromEntries(Object.keys(body).map((name) => [name, 'is not a known field'])),
      );
  });

  it('are rotated: both work until the overlap ends, and the successor has the same grants', async () => {
    const before = Date.now();
    const { id, client, answer } = await make(owner, { scopes: ['topics:read'], rateLimitPerMinute: 300 });
    const rotated = await owner.post(`/api-keys/${id}/rotate`, { overlapHours: 2 });
    expect(rotated.status).toBe(201);
    expect(rotated.body).toMatchObject({
      name: 'Made',
      scopes: ['topics:read'],
      rateLimitPerMinute: 300,
      expiresAt: null,
      status: 'ACTIVE',
    });
    const old = await rowOf(id);
    expect(old).toMatchObject({ status: 'REPLACED', replacedBy: rotated.at('id') });
    const endsIn = Date.parse(String(old['expiresAt'])) - before;
    expect(endsIn).toBeGreaterThanOrEqual(2 * HOUR_MS);
    expect(endsIn).toBeLessThan(2 * HOUR_MS + 60_000);
    for (const each of [client, withKey(rotated.at('key'))])
      expect((await each.get('/topics')).status).toBe(200);
    expect(rotated.at('key')).not.toBe(answer.at('key'));
    expectProblem(await owner.post(`/api-keys/${id}/rotate`, {}), 409, 'invalid-state', {
      currentState: 'REPLACED',
      allowedStates: ['ACTIVE'],
      detail: `The key is REPLACED by ${rotated.at('id')}.`,
    });
    await owner.delete(`/api-keys/${id}`);
    expectProblem(await owner.post(`/api-keys/${id}/rotate`, {}), 409, 'invalid-state', {
      currentState: 'REVOKED',
      allowedStates: ['ACTIVE'],
      detail: 'The key is REVOKED.',
    });
  });

  it('are rotated once by requests at the same time', async () => {
    const { id } = await make(owner, { scopes: ['topics:read'] });
    const attempts = await Promise.all([1, 2, 3].map(() => owner.post(`/api-keys/${id}/rotate`, {})));
    expect(attempts.map(({ status }) => String(status)).toSorted()).toEqual(['201', '409', '409']);
  });

  it('end no later than before when they are rotated, and at once without an overlap', async () => {
    const end = new Date(Date.now() + HOUR_MS).toISOString();
    const { id } = await make(owner, { scopes: ['topics:read'], expiresAt: end });
    const rotated = await owner.post(`/api-keys/${id}/rotate`);
    expect(rotated.at('expiresAt')).toBe(end);
    expect((await rowOf(id))['expiresAt']).toBe(end);
    const next = await owner.post(`/api-keys/${rotated.at('id')}/rotate`, { overlapHours: 0 });
    expect((await rowOf(rotated.at('id')))['status']).toBe('EXPIRED');
    expectProblem(await withKey(rotated.at('key')).get('/topics'), 401, 'unauthorized');
    expect((await withKey(next.at('key')).get('/topics')).status).toBe(200);
  });

  it('are revoked for good, and stay in the list', async () => {
    const { id, client } = await make(owner, { scopes: ['topics:read'] });
    expect((await client.get('/topics')).status).toBe(200);
    expect((await owner.delete(`/api-keys/${id}`)).status).toBe(204);
    const { revokedAt, status } = await rowOf(id);
    expect([status, revokedAt]).toEqual(['REVOKED', expect.any(String)]);
    expect((await owner.delete(`/api-keys/${id}`)).status).toBe(204);
    expect((await rowOf(id))['revokedAt']).toBe(revokedAt);
    await eventually('it is refused', async () => (await client.get('/topics')).status === 401);
    expectProblem(await owner.post(`/api-keys/${id}/rotate`, {}), 409, 'invalid-state', {
      currentState: 'REVOKED',
      allowedStates: ['ACTIVE'],
    });
  });

  it('make no key once they are revoked, though an api still lets them in', async () => {
    const { id, client } = await make(owner, { scopes: [MANAGE] });
    // As by a process that died before it told anybody.
    await client.get('/api-keys/current');
    await system.database.query('update access.api_keys set revoked_at = now() where id = $1', [id]);
    const answer = await client.post('/api-keys', { name: 'Left behind', scopes: [MANAGE] });
    expectProblem(answer, 401, 'unauthorized');
    const names = (await owner.get('/api-keys?size=100')).at<Wanted[]>('data').map(({ name }) => name);
    expect(names).not.toContain('Left behind');
  });

  it('keep the last one that may manage keys', async () => {
    const mine = await system.project();
    const last = await mine.client('TEST');
    const id = (await last.get('/api-keys/current')).at('id');
    await make(last, { scopes: ['topics:read'] });
    const { id: ended } = await make(last, { scopes: [MANAGE] });
    await system.database.query(`update access.api_keys set expires_at = now() where id = $1`, [ended]);
    await mine.client('LIVE');
    expectProblem(await last.delete(`/api-keys/${id}`), 409, 'last-managing-key');
    expect((await last.get(`/api-keys/${id}`)).at('status')).toBe('ACTIVE');
    const heir = await last.post(`/api-keys/${id}/rotate`, { overlapHours: 1 });
    const next = withKey(heir.at('key'));
    // The one before ends soon, and does not count.
    expectProblem(await last.delete(`/api-keys/${heir.at('id')}`), 409, 'last-managing-key');
    expect((await next.delete(`/api-keys/${id}`)).status).toBe(204);
    expectProblem(await next.delete(`/api-keys/${heir.at('id')}`), 409, 'last-managing-key');
  });

  it('keep it in a race, too: of two that revoke each other one stays', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: RACES }, async () => {
        const mine = await system.project();
        const both = await Promise.all([mine.client('TEST'), mine.client('TEST')]);
        const ids = await Promise.all(
          both.map(async (client) => (await client.get('/api-keys/current')).at('id')),
        );
        const answers = await Promise.all([
          both[0].delete(`/api-keys/${ids[1]}`),
          both[1].delete(`/api-keys/${ids[0]}`),
          both[0].delete(`/api-keys/${ids[0]}`),
          both[1].delete(`/api-keys/${ids[1]}`),
        ]);
        const left = await system.database.query(
          `select from access.api_keys where environment_id = $1 and revoked_at is null`,
          [mine.test.environmentId],
        );
        return { left: left.length, done: answers.filter(({ status }) => status === 204).length };
      }),
    );
    for (const { left, done } of outcomes) {
      expect(left).toBe(1);
      expect(done).toBeGreaterThanOrEqual(1);
    }
  });

  it('are refused outside of their networks, without being used up', async () => {
    const { id, client } = await make(owner, {
      scopes: ['topics:read'],
      rateLimitPerMinute: 1_000,
      allowedNetworks: ['203.0.113.0/24', '2001:db8::/32', '198.51.100.7'],
    });
    const from = (address: string) => client.get('/topics', { headers: { 'x-forwarded-for': address } });
    for (const address of [
      '203.0.113.9',
      '::ffff:203.0.113.9',
      '203.0.113.9:4711',
      '2001:db8::7',
      '[2001:DB8:0::8]:443',
      '198.51.100.7',
      '203.0.114.1, 203.0.113.9',
    ])
      expect([address, (await from(address)).status]).toEqual([address, 200]);
    for (const address of [
      '203.0.114.1',
      '::ffff:203.0.114.1',
      '2001:db9::1',
      '198.51.100.8',
      '203.0.113.9, 203.0.114.1',
    ]) {
      const refused = await from(address);
      expectProblem(refused, 403, 'network-not-allowed');
      expect(refused.headers.get('x-ratelimit-limit')).toBeNull();
    }
    const left = Number((await from('203.0.113.9')).headers.get('x-ratelimit-remaining'));
    await from('203.0.114.2');
    expect(Number((await from('203.0.113.9')).headers.get('x-ratelimit-remaining'))).toBe(left - 1);

    const thief = '203.0.114.77';
    await from(thief);
    await prolongWindow(system, `client:${thief}`);
    const rush = await Promise.all(Array.from({ length: 60 }, () => from(thief)));
    expect(new Set(rush.map(({ status }) => status))).toEqual(new Set([403, 429]));

    expect((await owner.patch(`/api-keys/${id}`, { allowedNetworks: ['203.0.114.0/24'] })).status).toBe(200);
    await eventually('the new network holds', async () => (await from('203.0.114.1')).status === 200);
    expectProblem(await from('203.0.113.9'), 403, 'network-not-allowed');
  });

  it('tell within a minute when they were last used, not when they were refused', async () => {
    const { id, client } = await make(owner, {
      scopes: ['topics:read'],
      allowedNetworks: ['203.0.113.0/24'],
    });
    const from = (address: string) => client.get('/topics', { headers: { 'x-forwarded-for': address } });
    const begun = Date.now();
    expect((await from('203.0.113.1')).status).toBe(200);
    const ended = Date.now();
    expect((await from('203.0.114.5')).status).toBe(403);
    const used = await eventually('its use is written', async () => (await rowOf(id))['lastUsedAt']);
    const at = Date.parse(String(used));
    // The clock of the programs is PostgreSQL's.
    expect(at).toBeGreaterThanOrEqual(begun - 1_000);
    expect(at).toBeLessThanOrEqual(ended + 1_000);
    expect(Date.now() - ended).toBeLessThan(75_000);
    expect((await rowOf(id))['updatedAt']).toBe((await rowOf(id))['createdAt']);
  });

  it('say what is wrong with a request', async () => {
    const wrong = await owner.post('/api-keys', {
      name: ' ',
      scopes: ['topics:read', 'topics:delete'],
      expiresAt: 'soon',
      rateLimitPerMinute: 0,
      allowedNetworks: ['203.0.113.7/24', 'office', '10.0.0.0/33'],
    });
    expect(invalid(wrong)).toEqual({
      name: 'must not be empty',
      'scopes[1]': expect.stringMatching(/^must be one of subscribers:read, /),
      expiresAt: 'must be a date and time in ISO 8601 with a time zone',
      rateLimitPerMinute: 'must be at least 1',
      'allowedNetworks[0]': 'has bits behind its prefix: write 203.0.113.0/24',
      'allowedNetworks[1]': 'must be an IP address or a network such as 203.0.113.0/24 or 2001:db8::/32',
      'allowedNetworks[2]': 'must have a prefix of at most 32 bits',
    });
    for (const [body, errors] of [
      [{ scopes: [] }, { scopes: 'must have at least 1 item' }],
      [
        { scopes: [MANAGE], allowedNetworks: Array.from({ length: 51 }, () => '::1') },
        { allowedNetworks: 'must have at most 50 items' },
      ],
    ] as const)
      expect(invalid(await owner.post('/api-keys', { name: 'x', ...body }))).toEqual(errors);
    for (const [expiresAt, fault] of [
      [new Date(Date.now() - 1_000), 'must be in the future'],
      ['2199-01-01T00:00:00Z', 'must be at most 100 years ahead'],
    ])
      expect(refusal(await owner.post('/api-keys', { name: 'x', scopes: [MANAGE], expiresAt }))).toEqual({
        expiresAt: fault,
      });
    const { id } = await make(owner, { scopes: ['topics:read'] });
    expect(invalid(await owner.post('/api-keys', { name: 'x', scopes: [MANAGE], expiresAt: 1 }))).toEqual({
      expiresAt: 'must be a date and time in ISO 8601 with a time zone',
    });
    for (const [overlapHours, fault] of [
      [-1, 'must be at least 0'],
      [169, 'must be at most 168'],
      [2 ** 60, 'must be at most 168'],
      [1.5, 'must be an integer'],
    ] as const)
      expect(invalid(await owner.post(`/api-keys/${id}/rotate`, { overlapHours }))).toEqual({
        overlapHours: fault,
      });
    for (const unknown of ['019aa3b5-0000-7000-8000-000000000000', 'nothing'])
      expectProblem(await owner.get(`/api-keys/${unknown}`), 404, 'not-found');
  });

  it('are at most 100 usable ones that programs have made', async () => {
    const mine = await system.project();
    const client = await mine.client('TEST');
    await system.database.query(
      `insert into access.api_keys (id, environment_id, name, key_hash, prefix, last_four, scopes, created_at)
       select gen_random_uuid(), $1, 'x', sha256(n::text::bytea || gen_random_uuid()::text::bytea), 'mw_test_', '0000', '{topics:read}', now()
       from generate_series(1, 98) n`,
      [mine.test.environmentId],
    );
    const { id } = await make(client, { scopes: ['topics:read'] });
    const wanted = { name: 'x', scopes: ['topics:read'] };
    expect(refusal(await client.post('/api-keys', wanted))).toEqual({
      apiKeys: 'must be at most 100 usable ones in an environment: revoke those that nobody needs',
    });
    const rotated = await client.post(`/api-keys/${id}/rotate`, {});
    expect(rotated.status).toBe(201);
    for (const each of [id, rotated.at('id')]) await client.delete(`/api-keys/${each}`);
    expect((await client.post('/api-keys', wanted)).status).toBe(201);
  });
});
