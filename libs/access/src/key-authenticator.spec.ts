import { randomInt } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { API_SCOPES, DomainValidationError, newId, NotFoundError } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import { Database, Notifications, PostgresNotifications } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { createProject, type TestProject } from '#testing/fixtures/fixtures';
import { accessEntities } from './access-tables.js';
import { displayParts, hashApiKey, isWellFormedApiKey, makeApiKey } from './api-key.js';
import { ApiKeysService } from './api-keys.service.js';
import { EnvironmentsQuery } from './project.repository.js';
import { ApiKeyCache, KeyAuthenticator } from './key-authenticator.js';

const START = new Date('2026-03-01T00:00:00.000Z');
const MINUTE_MS = 60_000;
const silent = pino({ level: 'silent' });

async function isAccepted(authenticator: KeyAuthenticator, key: string): Promise<boolean> {
  return (await authenticator.authenticate(key)) !== null;
}

describe('An API key', () => {
  let test: TestDatabase;
  let database: Database;
  let project: TestProject;
  let clock: ManualClock;
  let keys: ApiKeysService;
  let notifications: Notifications;
  let deaf: KeyAuthenticator;

  beforeAll(async () => {
    test = await createTestDatabase();
    database = await Database.connect({
      url: test.url,
      poolSize: 4,
      applicationName: 'spec',
      entities: accessEntities,
    });
    project = await createProject(test);
  });

  beforeEach(() => {
    clock = new ManualClock(START);
    keys = new ApiKeysService(
      database,
      new EnvironmentsQuery(database),
      { RATE_LIMIT_PER_MINUTE: 60 },
      clock,
    );
    notifications = new PostgresNotifications(test.url);
    deaf = new KeyAuthenticator(database, clock, notifications, silent);
  });

  afterEach(() => notifications.stop());

  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  const use = (keyId: string) => ({ keyId, scope: project.test });
  const makeKey = (more: { expiresAt?: Date; rateLimitPerMinute?: number } = {}) =>
    keys.create(project.test, { name: 'Website', scopes: ['topics:read', 'reports:read'], ...more });

  it('speaks for its project and environment, with its own scopes and limit', async () => {
    const { id, key } = await makeKey({ rateLimitPerMinute: 600 });
    expect(key).toMatch(/^mw_test_/);
    expect(await deaf.authenticate(key)).toMatchObject({
      keyId: id,
      scope: project.test,
      scopes: new Set(['topics:read', 'reports:read']),
      rateLimitPerMinute: 600,
    });
    const live = await keys.create(project.live, { name: 'All', scopes: API_SCOPES });
    expect(live.key).toMatch(/^mw_live_/);
    expect(await deaf.authenticate(live.key)).toMatchObject({
      scope: project.live,
      rateLimitPerMinute: null,
    });
  });

  it('is refused when it is mistyped, made up, or empty', async () => {
    const { key } = await makeKey();
    for (const wrong of [
      '',
      'x',
      key.slice(0, -1),
      `${key}a`,
      key.replace('test', 'live'),
      makeApiKey('TEST', randomInt),
    ]) {
      expect(await deaf.authenticate(wrong)).toBeNull();
    }
  });

  it('is stored only as its hash', async () => {
    const { id, key } = await makeKey();
    const [row] = await test.query<{ text: string }>(
      `select k::text as text from access.api_keys k where id = $1`,
      [id],
    );
    expect(row?.text).toContain(key.slice(-4));
    expect(row?.text).not.toContain(key.slice('mw_test_'.length, -4));
  });

  it('is refused from the moment it expires, also where it is remembered', async () => {
    const { key } = await makeKey({ expiresAt: new Date(START.getTime() + 1000) });
    expect(await isAccepted(deaf, key)).toBe(true);
    clock.advance(999);
    expect(await isAccepted(deaf, key)).toBe(true);
    clock.advance(1);
    expect(await isAccepted(deaf, key)).toBe(false);
  });

  it('that was revoked is refused within five seconds even where no notification arrives', async () => {
    const { id, key } = await makeKey();
    expect(await isAccepted(deaf, key)).toBe(true);
    await keys.revoke(project.test, id);
    clock.advance(4_000);
    expect(await isAccepted(deaf, key)).toBe(false);
    expect(await isAccepted(deaf, key)).toBe(false);
  });

  it('that was revoked is refused by the other instances as soon as they hear of it', async () => {
    const { id, key } = await makeKey();
    const other = await makeKey();
    const instances = [deaf, new KeyAuthenticator(database, clock, notifications, silent)];
    for (const instance of instances) instance.onModuleInit();
    await notifications.start();
    for (const instance of instances) expect(await isAccepted(instance, key)).toBe(true);
    await keys.revoke(project.test, id);
    for (const instance of instances) {
      await eventually('the revoked key is refused', async () => !(await isAccepted(instance, key)));
      expect(await isAccepted(instance, other.key)).toBe(true);
    }
  });

  it('that was revoked while the notifications were cut off is refused when they are back', async () => {
    const { id, key } = await makeKey();
    deaf.onModuleInit();
    await notifications.start();
    expect(await isAccepted(deaf, key)).toBe(true);
    // As by a process that died before it told anybody.
    await test.query('update access.api_keys set revoked_at = $1 where id = $2', [clock.now(), id]);
    expect(await isAccepted(deaf, key)).toBe(true);
    await test.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'mailwright-listen' and datname = current_database()`,
    );
    await eventually('the revoked key is refused', async () => !(await isAccepted(deaf, key)));
  });

  it('that was used is known when, by one statement a minute for all keys of an instance', async () => {
    const made = [await makeKey(), await makeKey(), await makeKey()].map(({ id }) => id);
    const [first = '', second = '', third = ''] = made;
    const writes: string[] = [];
    const counted = new Proxy(database, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === 'statement') writes.push(clock.now().toISOString());
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const instance = new KeyAuthenticator(counted, clock, notifications, silent);
    const usedAt = async () =>
      Promise.all(made.map(async (id) => (await keys.get(project.test, id)).lastUsedAt));
    instance.used(use(first));
    await eventually('its first use is written', async () => (await usedAt())[0] !== null);
    for (let seconds = 1; seconds < 60; seconds += 1) {
      clock.advance(1_000);
      instance.used(use(first));
      instance.used(use(second));
    }
    expect(await usedAt()).toEqual([START, null, null]);
    clock.advance(1_000);
    instance.used(use(third));
    await eventually('the minute is written', async () => (await usedAt())[2] !== null);
    const at = (ms: number) => new Date(START.getTime() + ms);
    expect(await usedAt()).toEqual([at(59_000), at(59_000), at(60_000)]);
    instance.used(use(first));
    await instance.onApplicationShutdown();
    expect((await usedAt())[0]).toEqual(at(60_000));
    expect(writes).toEqual([START, at(60_000), at(60_000)].map((time) => time.toISOString()));
  });

  it('that another instance used later keeps that moment', async () => {
    const { id } = await makeKey();
    const earlier = new KeyAuthenticator(database, clock, notifications, silent);
    earlier.used(use(id));
    await eventually('it is written', async () => (await keys.get(project.test, id)).lastUsedAt !== null);
    clock.advance(1_000);
    earlier.used(use(id));
    clock.advance(1_000);
    deaf.used(use(id));
    await deaf.onApplicationShutdown();
    await earlier.onApplicationShutdown();
    expect((await keys.get(project.test, id)).lastUsedAt).toEqual(new Date(START.getTime() + 2_000));
  });

  it('keeps the moment of its first revocation', async () => {
    const { id } = await makeKey();
    expect(await keys.revoke(project.test, id)).toEqual(START);
    clock.advance(MINUTE_MS);
    expect(await keys.revoke(project.test, id)).toEqual(START);
    await expect(keys.revoke(project.test, newId())).rejects.toThrow(NotFoundError);
    await expect(keys.revoke(project.test, 'not-an-id')).rejects.toThrow(NotFoundError);
  });

  it('is not made with a blank name, no scope, an unknown scope, a past end or a limit of nothing', async () => {
    const faulty = keys.create(project.test, {
      name: ' ',
      scopes: ['topics:read', 'topics:delete'],
      expiresAt: START,
      rateLimitPerMinute: 0,
    });
    await expect(faulty).rejects.toMatchObject({
      errors: {
        name: 'must not be blank',
        'scopes[1]': expect.stringContaining('must be one of subscribers:read, '),
        expiresAt: 'must be in the future',
        rateLimitPerMinute: 'must be an integer from 1 to 1000000',
      },
    });
    await expect(keys.create(project.test, { name: 'None', scopes: [] })).rejects.toThrow(
      DomainValidationError,
    );
  });

  it('has a name of 200 characters at most, as people count them, on one line', async () => {
    const scopes = ['topics:read'];
    for (const name of ['😀'.repeat(200), 'é'.repeat(200)])
      expect((await keys.create(project.test, { name, scopes })).name).toBe(name);
    for (const [name, fault] of [
      ['😀'.repeat(201), 'must be at most 200 characters'],
      ['Shop\u001b[2J', 'must not contain control characters'],
    ] as const)
      await expect(keys.create(project.test, { name, scopes })).rejects.toMatchObject({
        errors: { name: fault },
      });
  });

  it('is listed with its state, newest first, without the key', async () => {
    const mine = await createProject(test, 'LIST');
    const made = { name: 'Website', scopes: ['topics:read'] as const };
    const revoked = await keys.create(mine.live, made);
    clock.advance(MINUTE_MS);
    const expiring = await keys.create(mine.test, {
      ...made,
      expiresAt: new Date(clock.now().getTime() + 1),
    });
    clock.advance(MINUTE_MS);
    const active = await keys.create(mine.test, made);
    await keys.revoke(mine.live, revoked.id);
    const list = await keys.list(mine.test.projectId);
    expect(list.map(({ id, status, environment }) => [id, status, environment])).toEqual([
      [active.id, 'ACTIVE', 'TEST'],
      [expiring.id, 'EXPIRED', 'TEST'],
      [revoked.id, 'REVOKED', 'LIVE'],
    ]);
    expect(list[0]).toMatchObject({
      projectKey: 'LIST',
      name: 'Website',
      prefix: 'mw_test_',
      lastFour: active.key.slice(-4),
    });
    expect(JSON.stringify(list)).not.toContain(active.key);
    expect((await keys.list()).length).toBeGreaterThan(3);
  });
});

const keep = (cache: ApiKeyCache<string>, hash: string, now = 0) =>
  cache.keep(cache.beginReading(hash, now), hash);

describe('What is remembered of keys', () => {
  it('is forgotten when its time is over, counted from the beginning of the look-up', () => {
    const cache = new ApiKeyCache<string>(10, 1000);
    const reading = cache.beginReading('a', 0);
    cache.keep(reading, 'a');
    expect(cache.get('a', 999)).toBe('a');
    expect(cache.get('a', 1000)).toBeUndefined();
    expect(cache.get('a', 0)).toBeUndefined();
  });

  it('is forgotten when the clock is set back', () => {
    const cache = new ApiKeyCache<string>(10, 1000);
    keep(cache, 'a', 5000);
    expect(cache.get('a', 4999)).toBeUndefined();
  });

  it('gives up the key that was used longest ago when there is no room', () => {
    const cache = new ApiKeyCache<string>(2, 1000);
    keep(cache, 'a');
    keep(cache, 'b');
    expect(cache.get('a', 1)).toBe('a');
    keep(cache, 'c');
    expect(cache.get('b', 1)).toBeUndefined();
    expect(cache.get('a', 1)).toBe('a');
    expect(cache.get('c', 1)).toBe('c');
  });

  it('never holds what was read before the notification of a change', () => {
    const cache = new ApiKeyCache<string>(10, 1000);
    for (const notify of [() => cache.forget('a'), () => cache.forgetAll()]) {
      const reading = cache.beginReading('a', 0);
      notify();
      cache.keep(reading, 'stale');
      expect(cache.get('a', 1)).toBeUndefined();
    }
  });

  it('is forgotten at a notification', () => {
    const cache = new ApiKeyCache<string>(10, 1000);
    keep(cache, 'a');
    keep(cache, 'b');
    cache.forget('a');
    expect(cache.get('a', 1)).toBeUndefined();
    expect(cache.get('b', 1)).toBe('b');
    cache.forgetAll();
    expect(cache.get('b', 1)).toBeUndefined();
  });
});

describe('The text of an API key', () => {
  it('says which environment it is for', () => {
    expect(makeApiKey('TEST', randomInt)).toMatch(/^mw_test_[0-9A-Za-z]{42}$/);
    expect(makeApiKey('LIVE', randomInt)).toMatch(/^mw_live_[0-9A-Za-z]{42}$/);
  });

  it('is known to be wrong after any typo, without a look-up', () => {
    const key = makeApiKey('TEST', randomInt);
    expect(isWellFormedApiKey(key)).toBe(true);
    for (let position = 'mw_test_'.length; position < key.length; position += 1) {
      const typo = key.slice(0, position) + (key[position] === 'x' ? 'y' : 'x') + key.slice(position + 1);
      expect(isWellFormedApiKey(typo)).toBe(false);
    }
    expect(isWellFormedApiKey(key.slice(0, -1))).toBe(false);
    expect(isWellFormedApiKey(key.replace('test', 'live'))).toBe(false);
    expect(isWellFormedApiKey('')).toBe(false);
  });

  it('is never the same twice and shows only its ends', () => {
    const first = makeApiKey('LIVE', randomInt);
    const second = makeApiKey('LIVE', randomInt);
    expect(hashApiKey(first).equals(hashApiKey(second))).toBe(false);
    expect(displayParts(first)).toEqual({ prefix: 'mw_live_', lastFour: first.slice(-4) });
  });
});
