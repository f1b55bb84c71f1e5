import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseList } from 'structured-headers';
import { type ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { expectProblem } from '#testing/http/problems';
import { prolongWindow, prolongWindowOfKey } from '#testing/time/rate-limit-window';
import {
  addKey,
  type KeyOptions,
  QUEUES,
  type SharedSystem,
  sharedSystem,
  type SystemProject,
} from '#testing/programs/system';

const NO_LIMIT = 1_000_000;

describe.each(QUEUES)('API keys, before two api processes that count in %s', (store) => {
  let system: SharedSystem;
  let project: SystemProject;
  let addresses: string[];

  beforeAll(async () => {
    system = await sharedSystem(store);
    addresses = [system.baseUrl, await system.secondApi()];
    project = await system.project();
  });
  afterAll(() => system?.stop());

  const clients = (key: string | null): ApiClient[] =>
    addresses.map((address) => new ApiClient(address, key));
  const newKey = (options: KeyOptions = {}) => addKey(system.database, project.test, options);
  /** `count` requests at once, every other one to the other process; in the order in which they were counted. */
  const rush = async (count: number, key: string | null, headers: Record<string, string> = {}) => {
    const both = clients(key);
    const asked = Array.from({ length: count }, (_unused, index) =>
      both[index % 2]!.get('/project', { headers }),
    );
    const answers = await Promise.all(asked);
    return answers.sort((one, other) => one.status - other.status || remainingOf(other) - remainingOf(one));
  };
  const remainingOf = ({ headers }: ApiAnswer) => Number(headers.get('x-ratelimit-remaining'));
  const header = (answer: ApiAnswer, name: string) => answer.headers.get(name);
  /** The items of a structured field (RFC 9651): each value with its parameters. */
  const itemsOf = (answer: ApiAnswer, name: string) =>
    parseList(header(answer, name) ?? '').map(([value, parameters]) => [
      value,
      Object.fromEntries(parameters),
    ]);

  it('may ask 60 times a minute, whichever process answers', async () => {
    const key = await newKey({ rateLimitPerMinute: null });
    const begun = Math.floor(Date.now() / 1000);
    const [first] = await rush(1, key);
    const ended = Math.ceil(Date.now() / 1000);
    // A minute after one of the moments in between.
    expect(Number(header(first!, 'x-ratelimit-reset'))).toBeGreaterThanOrEqual(begun + 60);
    expect(Number(header(first!, 'x-ratelimit-reset'))).toBeLessThanOrEqual(ended + 60);
    await prolongWindowOfKey(system, key);
    const others = await rush(61, key);
    const answers = [first!, ...others];
    expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 60 }, () => 200), 429, 429]);
    expect(answers.map((answer) => header(answer, 'x-ratelimit-limit'))).toEqual(answers.map(() => '60'));
    expect(answers.map((answer) => Number(header(answer, 'x-ratelimit-remaining')))).toEqual([
      ...Array.from({ length: 60 }, (_unused, index) => 59 - index),
      0,
      0,
    ]);
    for (const answer of answers) {
      expect(itemsOf(answer, 'ratelimit-policy')).toEqual([['default', { q: 60, w: 60 }]]);
      const t = expect.any(Number);
      expect(itemsOf(answer, 'ratelimit')).toEqual([['default', { r: remainingOf(answer), t }]]);
    }
    const resets = [...new Set(others.map((answer) => header(answer, 'x-ratelimit-reset')))];
    expect(resets).toEqual([expect.stringMatching(/^\d{10}$/)]);
    const rushed = Math.ceil(Date.now() / 1000);
    for (const answer of answers.slice(-2)) {
      expectProblem(answer, 429, 'rate-limited');
      const retryAfter = Number(header(answer, 'retry-after'));
      expect(retryAfter).toBeGreaterThanOrEqual(Math.max(1, Number(resets[0]) - rushed - 1));
      expect(retryAfter).toBeLessThanOrEqual(Number(resets[0]) - begun);
      expect(itemsOf(answer, 'ratelimit')).toEqual([['default', { r: 0, t: retryAfter }]]);
    }
    expect((await clients(await newKey({ rateLimitPerMinute: null }))[0]!.get('/project')).status).toBe(200);
  });

  it('hear about their limit in every answer, errors included', async () => {
    const key = await newKey({ scopes: ['topics:read', 'topics:write'], rateLimitPerMinute: 500 });
    const [client] = clients(key);
    const first = await client!.get('/topics');
    await prolongWindowOfKey(system, key);
    const answers: [number, ApiAnswer][] = [
      [200, first],
      [201, await client!.post('/topics', { name: 'News' }, { headers: { 'idempotency-key': 'once' } })],
      [201, await client!.post('/topics', { name: 'News' }, { headers: { 'idempotency-key': 'once' } })],
      [400, await client!.post('/topics', {})],
      [400, await client!.get('/topics?size=0')],
      [403, await client!.get('/subscribers')],
      [404, await client!.get('/topics/APIT-999')],
      [404, await client!.get('/nowhere')],
      [405, await client!.delete('/topics')],
      [406, await client!.get('/topics', { headers: { accept: 'text/html' } })],
      [413, await client!.post('/topics', { name: 'x'.repeat(2e6) })],
      [415, await client!.post('/topics', 'x', { headers: { 'content-type': 'text/plain' } })],
      [422, await client!.post('/topics', { name: 'Other' }, { headers: { 'idempotency-key': 'once' } })],
    ];
    expect(answers.map(([, { status }]) => status)).toEqual(answers.map(([status]) => status));
    expect(answers.map(([, answer]) => header(answer, 'x-ratelimit-limit'))).toEqual(
      answers.map(() => '500'),
    );
    const remaining = answers.map(([, answer]) => Number(header(answer, 'x-ratelimit-remaining')));
    expect(remaining).toEqual(answers.map((_unused, index) => 499 - index));
    for (const [index, [, answer]] of answers.entries()) {
      expect(itemsOf(answer, 'ratelimit-policy')).toEqual([['default', { q: 500, w: 60 }]]);
      expect(itemsOf(answer, 'ratelimit')).toEqual([['default', { r: 499 - index, t: expect.any(Number) }]]);
    }
  });

  it('are not charged for what others guess, whom their address limits', async () => {
    const key = await newKey({ rateLimitPerMinute: 100 });
    const from = { headers: { 'x-forwarded-for': '203.0.113.177' } };
    const typo = `${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`;
    const [first] = await rush(1, typo, from.headers);
    await prolongWindow(system, 'client:203.0.113.177');
    const guesses = [first!, ...(await rush(60, typo, from.headers))];
    expect(guesses.slice(0, 60).map(({ status }) => status)).toEqual(Array.from({ length: 60 }, () => 401));
    expectProblem(guesses[60]!, 429, 'rate-limited', {
      detail: expect.stringContaining('had no key that may be used'),
    });
    expect(Number(header(guesses[60]!, 'retry-after'))).toBeGreaterThanOrEqual(1);
    for (const name of ['x-ratelimit-remaining', 'ratelimit-policy', 'ratelimit'])
      expect(guesses.map((answer) => header(answer, name))).toEqual(guesses.map(() => null));
    const elsewhere = await clients(typo)[0]!.get('/project', {
      headers: { 'x-forwarded-for': '203.0.113.178' },
    });
    expect(elsewhere.status).toBe(401);
    const owner = await clients(key)[0]!.get('/project', from);
    expect([owner.status, header(owner, 'x-ratelimit-remaining')]).toEqual([200, '99']);
  });

  it('that the operator revokes are refused by both processes', async () => {
    const environment = { ...system.variables, PATH: process.env['PATH'] ?? '' };
    const options = [
      '--project',
      project.name,
      ...'--env test --name Website --scopes topics:read'.split(' '),
    ];
    const made = await runCliForJson(environment, ['key:create', ...options]);
    const both = clients(String(made['key']));
    for (const client of both) expect((await client.get('/topics')).status).toBe(200);
    await runCliForJson(environment, ['key:revoke', String(made['id'])]);
    const refused = both.map((client) =>
      eventually('the key is refused', async () => (await client.get('/topics')).status === 401),
    );
    await Promise.all(refused);
    for (const client of both) expectProblem(await client.get('/topics'), 401, 'unauthorized');
  });

  it('end when they expire, though they were used just before', async () => {
    const key = await newKey({ rateLimitPerMinute: NO_LIMIT });
    const both = clients(key);
    for (const client of both) expect((await client.get('/project')).status).toBe(200);
    await system.database.query(
      `update access.api_keys set expires_at = now() + interval '1 s' where last_four = $1 and environment_id = $2`,
      [key.slice(-4), project.test.environmentId],
    );
    for (const client of both) {
      await eventually('the key has expired', async () => (await client.get('/project')).status === 401);
    }
  });

  it('may do what their scopes say and no more; writing is not reading', async () => {
    const [writer] = clients(await newKey({ scopes: ['topics:write'] }));
    expect((await writer!.post('/topics', { name: 'Written' })).status).toBe(201);
    expectProblem(await writer!.get('/topics'), 403, 'insufficient-scope', {
      requiredScope: 'topics:read',
    });
    const [powerless] = clients(await newKey({ scopes: ['credits:read'] }));
    expect((await powerless!.get('/project')).status).toBe(200);
  });

  it('open the environment that they are for', async () => {
    const [test] = clients(await newKey());
    const [live] = clients(await addKey(system.database, project.live));
    expect((await test!.get('/project')).at('environment')).toBe('TEST');
    expect((await live!.get('/project')).at('environment')).toBe('LIVE');
    expect((await test!.get('/project')).at('id')).toBe((await live!.get('/project')).at('id'));
    const unknown = '019aa3b5-0000-7000-8000-000000000000';
    for (const path of ['', `/${unknown}`, `/${unknown}/raw`]) {
      expectProblem(await live!.get(`/test-inbox/messages${path}`), 404, 'not-found');
    }
    expectProblem(await live!.delete('/test-inbox/messages'), 404, 'not-found');
    expect((await test!.get('/test-inbox/messages')).status).toBe(200);
    expect((await test!.delete('/test-inbox/messages')).status).toBe(204);
  });
});
