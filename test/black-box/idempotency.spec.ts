import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { ApiAnswer } from '#testing/http/api-answer';
import { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { startProgram } from '#testing/programs/program';
import { prolongWindowOfKey } from '#testing/time/rate-limit-window';
import { sharedSystem, type System, type SystemProject } from '#testing/programs/system';

describe('Idempotency-Key', () => {
  let system: System;
  let project: SystemProject;
  let client: ApiClient;
  let topicKey: string;
  let used = 0;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    topicKey = (await client.post('/topics', { name: 'News', doubleOptInEnabled: true })).at('topicKey');
  });
  afterAll(() => system?.stop());

  const newKey = () => `key ${(used += 1)}`;
  const post = (path: string, body: unknown, key: string, by = client): Promise<ApiAnswer> =>
    by.post(path, body, { headers: { 'idempotency-key': key } });
  const running = async () =>
    (
      await system.database.query(
        'select 1 from platform.idempotency_keys where status is null and environment_id = $1',
        [project.test.environmentId],
      )
    ).length;
  /** Makes whoever writes to the table wait until it is released. */
  async function holdTable(table: string): Promise<() => Promise<void>> {
    const session = new pg.Client({ connectionString: system.database.adminUrl });
    await session.connect();
    await session.query('begin');
    await session.query(`lock table ${table} in share mode`);
    return () => session.end();
  }
  const isReplay = ({ headers }: ApiAnswer) => headers.get('idempotency-replayed') === 'true';
  const subscriber = (email: string) => ({ email, topicKeys: [topicKey], consent: { source: 'form' } });
  const expectReplayOf = (first: ApiAnswer, again: ApiAnswer) => {
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    expect([isReplay(first), isReplay(again)]).toEqual([false, true]);
  };

  it('gives the first answer again and does nothing twice', async () => {
    const key = newKey();
    const body = subscriber('ada@example.com');
    const first = await post('/subscribers', body, key);
    expect([first.status, first.headers.get('location')]).toEqual([
      201,
      '/api/v1/subscribers/ada%40example.com',
    ]);
    expectReplayOf(first, await post('/subscribers', body, key));
    expectReplayOf(first, await post('/subscribers', body, key));
    const rows = await system.database.query('select 1 from audience.subscribers where environment_id = $1', [
      project.test.environmentId,
    ]);
    expect(rows).toHaveLength(1);
  });

  it('gives the first answer again though things have changed since', async () => {
    const key = newKey();
    const first = await post('/topics', { name: 'Offers' }, key);
    await client.patch(`/topics/${first.at('topicKey')}`, { name: 'Renamed' });
    expectReplayOf(first, await post('/topics', { name: 'Offers' }, key));
  });

  it('gives answers without a body again', async () => {
    await post('/subscribers', subscriber('pending@example.com'), newKey());
    const key = newKey();
    const resend = `/subscribers/pending%40example.com/consents/${topicKey}/resend`;
    const first = await post(resend, undefined, key);
    expect([first.status, first.text]).toEqual([202, '']);
    expectReplayOf(first, await post(resend, undefined, key));
    expectProblem(await client.post(resend), 429, 'rate-limited');
  });

  it('is refused for another body', async () => {
    const key = newKey();
    expect((await post('/topics', { name: 'One' }, key)).status).toBe(201);
    expectProblem(await post('/topics', { name: 'Two' }, key), 422, 'idempotency-key-reused');
    expect((await client.get('/topics')).at('data', 0, 'name')).toBe('One');
  });

  it('lets one of many parallel requests run', async () => {
    const key = newKey();
    const before = (await client.get('/topics')).at<number>('pagination', 'totalElements');
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => post('/topics', { name: 'Rush' }, key)),
    );
    const created = answers.filter(({ status }) => status === 201);
    expect(created.filter((answer) => !isReplay(answer))).toHaveLength(1);
    expect(new Set(created.map(({ text }) => text)).size).toBe(1);
    for (const answer of answers.filter(({ status }) => status !== 201))
      expectProblem(answer, 409, 'idempotency-in-flight');
    expect((await client.get('/topics')).at('pagination', 'totalElements')).toBe(before + 1);
  });

  it('says that the first request is still running', async () => {
    const key = newKey();
    const body = subscriber('slow@example.com');
    const release = await holdTable('audience.subscribers');
    const first = post('/subscribers', body, key);
    await eventually('the request runs', async () => (await running()) === 1);
    expectProblem(await post('/subscribers', body, key), 409, 'idempotency-in-flight');
    expectProblem(
      await post('/subscribers', { ...body, firstName: 'X' }, key),
      422,
      'idempotency-key-reused',
    );
    await release();
    expect((await first).status).toBe(201);
    expectReplayOf(await first, await post('/subscribers', body, key));
  });

  it('is taken over by a retry when the api that ran the first request was killed', async () => {
    const key = newKey();
    const body = subscriber('survivor@example.com');
    const doomed = await startProgram('api', { ...system.variables, PUBLIC_URL: system.baseUrl });
    const release = await holdTable('audience.subscribers');
    const lost = post(
      '/subscribers',
      body,
      key,
      new ApiClient(`http://127.0.0.1:${doomed.port}`, client.key),
    );
    await eventually('the request runs', async () => (await running()) === 1);
    await Promise.all([expect(lost).rejects.toThrow(), doomed.kill()]);
    await release();
    expectProblem(await post('/subscribers', body, key), 409, 'idempotency-in-flight');
    const again = await eventually('the key is free', async () => {
      const answer = await post('/subscribers', body, key);
      return answer.status !== 409 && answer;
    });
    expect([again.status, isReplay(again)]).toEqual([201, false]);
    expectReplayOf(again, await post('/subscribers', body, key));
    const rows = await system.database.query(
      `select 1 from audience.subscribers where email like 'survivor%'`,
    );
    expect(rows).toHaveLength(1);
  });

  it('compares what is said, in whatever order and spacing', async () => {
    const key = newKey();
    const first = await post('/topics', '{"name":"Spelled","doubleOptInEnabled":false}', key);
    expect(first.status).toBe(201);
    expectReplayOf(first, await post('/topics', '{ "doubleOptInEnabled" : false,\n "name":"Spelled" }', key));
    expectProblem(
      await post('/topics', '{"name":"Spelled","doubleOptInEnabled":true}', key),
      422,
      'idempotency-key-reused',
    );
  });

  it('remembers refusals that stay, and not those that the client can mend', async () => {
    const conflict = newKey();
    const first = await post('/subscribers', subscriber('ada@example.com'), conflict);
    expectProblem(first, 409, 'already-exists');
    expectReplayOf(first, await post('/subscribers', subscriber('ada@example.com'), conflict));
    const unknown = newKey();
    const notFound = await post('/campaigns/APIT-999/send', undefined, unknown);
    expectProblem(notFound, 404, 'not-found');
    expectReplayOf(notFound, await post('/campaigns/APIT-999/send', undefined, unknown));

    const mended = newKey();
    expectProblem(await post('/topics', {}, mended), 400, 'validation-error', {
      errors: { name: 'is required' },
    });
    expectProblem(await post('/topics', '{', mended), 400, 'malformed-json');
    expect((await post('/topics', { name: 'Mended' }, mended)).status).toBe(201);
  });

  it('does not remember a missing scope or a limit', async () => {
    const poor = await project.client('TEST', { scopes: ['topics:read'], rateLimitPerMinute: 1 });
    const key = newKey();
    expectProblem(await post('/topics', { name: 'x' }, key, poor), 403, 'insufficient-scope', {
      requiredScope: 'topics:write',
    });
    await prolongWindowOfKey(system, poor.key!);
    expectProblem(await post('/topics', { name: 'x' }, key, poor), 429, 'rate-limited');
    await system.database.query(
      `update access.api_keys set scopes = '{topics:write}', rate_limit_per_minute = 1000 where last_four = $1`,
      [poor.key?.slice(-4)],
    );
    const allowed = await eventually('the key may do more', async () => {
      const answer = await post('/topics', { name: 'x' }, key, poor);
      return answer.status !== 429 && answer;
    });
    expect([allowed.status, isReplay(allowed)]).toEqual([201, false]);
  });

  it('is one key’s, one path’s and one method’s own', async () => {
    const key = newKey();
    const first = await post('/topics', { name: 'Mine' }, key);
    const other = await project.client('TEST');
    const others = await post('/topics', { name: 'Mine' }, key, other);
    expect([first.status, others.status, isReplay(others)]).toEqual([201, 201, false]);
    expect(others.at('id')).not.toBe(first.at('id'));
    expect((await post('/campaigns', { name: 'Mine', subject: 'Mine' }, key)).status).toBe(201);
    const read = await client.get('/topics', { headers: { 'idempotency-key': key } });
    expect([read.status, isReplay(read)]).toEqual([200, false]);
    const patch = await client.request('PATCH', `/topics/${first.at('topicKey')}`, {
      body: { name: 'Patched' },
      headers: { 'idempotency-key': key },
    });
    expect([patch.status, isReplay(patch)]).toEqual([200, false]);
  });

  it('is 1 to 255 printable ASCII characters', async () => {
    for (const good of ['a', '~'.repeat(255), 'with spaces {and} "quotes"']) {
      expect((await post('/topics', { name: 'x' }, good)).status).toBe(201);
    }
    for (const bad of ['', 'x'.repeat(256), 'a\tb', 'é']) {
      const errors = { errors: { 'Idempotency-Key': expect.any(String) } };
      expectProblem(await post('/topics', { name: 'x' }, bad), 400, 'validation-error', errors);
    }
  });
});
