import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { KeyAuthenticator } from '#access';
import { API_SCOPES } from '#kernel';
import { SystemClock } from '#testing/time/clocks';
import { Database, PostgresNotifications } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { runCliForJson } from '#testing/programs/operator-cli';

describe('demo:seed makes a demo project', () => {
  let test: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    test = await createTestDatabase();
    database = await Database.connect({ url: test.url, poolSize: 2, applicationName: 'spec', entities: [] });
  });

  beforeEach(() => test.query('truncate access.tenants, billing.subscriptions, audience.topics cascade'));

  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  const json = (...args: readonly string[]) => runCliForJson({ DATABASE_URL: test.url }, args);
  const authenticate = (value: unknown) =>
    new KeyAuthenticator(
      database,
      new SystemClock(),
      new PostgresNotifications(test.url),
      pino({ level: 'silent' }),
    ).authenticate(String(value));
  const topics = { doubleOptIn: 'DEMO-1', singleOptIn: 'DEMO-2' };
  const liveTopics = { doubleOptIn: 'DEMO-3', singleOptIn: 'DEMO-4' };
  const rows = () =>
    test.query(
      `select e.environment, t.topic_key, t.name, t.double_opt_in_enabled as "doubleOptIn"
       from audience.topics t join access.project_environments e on e.id = t.environment_id order by t.topic_key`,
    );

  it('with two topics and a key of every scope in each environment', async () => {
    const seeded = await json('demo:seed');
    expect(seeded).toEqual({
      created: true,
      projectKey: 'DEMO',
      testKey: expect.stringMatching(/^mw_test_/),
      liveKey: expect.stringMatching(/^mw_live_/),
      topics,
      liveTopics,
    });
    expect(await rows()).toEqual([
      { environment: 'TEST', topic_key: 'DEMO-1', name: 'Product news', doubleOptIn: true },
      { environment: 'TEST', topic_key: 'DEMO-2', name: 'Release notes', doubleOptIn: false },
      { environment: 'LIVE', topic_key: 'DEMO-3', name: 'Product news', doubleOptIn: true },
      { environment: 'LIVE', topic_key: 'DEMO-4', name: 'Release notes', doubleOptIn: false },
    ]);
    for (const secret of [seeded['testKey'], seeded['liveKey']]) {
      expect((await authenticate(secret))?.scopes).toEqual(new Set(API_SCOPES));
    }
  });

  it('once, however often and at once it is asked to', async () => {
    const runs = await Promise.all([json('demo:seed'), json('demo:seed')]);
    expect(runs.filter(({ created }) => created === true)).toHaveLength(1);
    expect(runs.filter(({ testKey, liveKey }) => testKey === null && liveKey === null)).toHaveLength(1);
    for (const seeded of runs) expect(seeded).toMatchObject({ topics, liveTopics });
    expect(await rows()).toHaveLength(4);
  });

  it('with new keys in the place of the old ones when asked', async () => {
    const first = await json('demo:seed');
    const renewed = await json('demo:seed', '--renew-keys');
    expect(renewed).toMatchObject({ created: false, topics, liveTopics });
    for (const name of ['testKey', 'liveKey']) {
      expect(await authenticate(first[name])).toBeNull();
      expect(await authenticate(renewed[name])).not.toBeNull();
    }
  });

  it('going on where an earlier run was cut off', async () => {
    await json('demo:seed');
    await test.query(`delete from audience.topics where topic_key in ('DEMO-2', 'DEMO-3', 'DEMO-4')`);
    await test.query(`delete from access.api_keys where prefix = 'mw_live_'`);
    await test.query(`truncate billing.subscriptions cascade`);
    expect(await json('demo:seed')).toEqual({
      created: true,
      projectKey: 'DEMO',
      testKey: null,
      liveKey: expect.stringMatching(/^mw_live_/),
      topics: { doubleOptIn: 'DEMO-1', singleOptIn: 'DEMO-5' },
      liveTopics: { doubleOptIn: 'DEMO-6', singleOptIn: 'DEMO-7' },
    });
    expect(await test.query(`select plan_tier from billing.subscriptions`)).toEqual([{ plan_tier: 'FREE' }]);
  });

  it('without bringing back a key that the operator revoked', async () => {
    await json('demo:seed');
    await test.query(`update access.api_keys set revoked_at = now()`);
    expect(await json('demo:seed')).toMatchObject({ created: false, testKey: null, liveKey: null });
  });
});
