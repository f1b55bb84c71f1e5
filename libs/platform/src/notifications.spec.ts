import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { startRedis, type TestRedis } from '#testing/programs/redis';
import { letTimeGo, passTime, stopTime } from '#testing/time/time-limits';
import { Database } from './database/database.js';
import { type Notification, type Notifications, Notifier } from './notifications.js';
import { PostgresNotifications } from './postgres-notifications.js';
import { RedisNotifications, redisTransport } from './redis-notifications.js';

describe('wake-ups of a process', () => {
  const note = (payload: string): Notification => ({ channel: 'c', payload });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  let sent: string[][];
  let notifier: Notifier;

  beforeEach(() => {
    stopTime();
    sent = [];
    notifier = new Notifier({
      send: async (some) => sent.push(some.map(({ payload }) => payload)),
      close: () => undefined,
    });
  });
  afterEach(letTimeGo);

  async function pass(milliseconds: number): Promise<void> {
    passTime(milliseconds);
    await settled();
  }

  it('are sent at once, then at most every 50 ms, each once', async () => {
    notifier.notify([note('first')]);
    expect(sent).toEqual([['first']]);
    for (let n = 0; n < 100; n += 1) notifier.notify([note('again'), note('other')]);
    await pass(49);
    expect(sent).toEqual([['first']]);
    await pass(1);
    expect(sent).toEqual([['first'], ['again', 'other']]);
    await pass(1_000);
    notifier.notify([note('later')]);
    expect(sent).toEqual([['first'], ['again', 'other'], ['later']]);
  });

  it('are sent before the process ends', async () => {
    for (const payload of ['first', 'last']) notifier.notify([note(payload)]);
    await notifier.close();
    expect(sent).toEqual([['first'], ['last']]);
  });

  it('go on after one could not be sent', async () => {
    const failing = new Notifier({
      send: async (some) => {
        sent.push(some.map(({ payload }) => payload));
        throw new Error('Nobody hears.');
      },
      close: () => undefined,
    });
    failing.notify([note('lost')]);
    failing.notify([note('next')]);
    await settled();
    await pass(50);
    expect(sent).toEqual([['lost'], ['next']]);
  });
});

describe.each(['postgres', 'redis'] as const)('wake-ups between processes, through %s', (kind) => {
  let redis: TestRedis | undefined;
  let test: TestDatabase;
  let database: Database;
  let notifications: Notifications;
  let heard: (string | null)[];

  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedis() : undefined;
    test = await createTestDatabase();
  });
  afterAll(async () => {
    await test.drop();
    await redis?.stop();
  });

  beforeEach(async () => {
    heard = [];
    database = await Database.connect({
      url: test.url,
      poolSize: 4,
      applicationName: 'spec',
      entities: [],
      notificationTransport: redis && redisTransport(redis.url),
    });
    notifications = redis ? new RedisNotifications(redis.url) : new PostgresNotifications(test.url);
    notifications.listen('parcels', (payload) => heard.push(payload));
    await notifications.start();
    heard.length = 0;
  });
  afterEach(async () => {
    await notifications.stop();
    await database.close();
  });

  const isHeard = (payload: string | null) =>
    eventually(`${payload} is heard`, () => Promise.resolve(heard.includes(payload)));

  it('come when the transaction is committed, and never of one that is rolled back', async () => {
    const rolledBack = database.system(async () => {
      database.notify('parcels', 'rolled back');
      throw new Error('changed my mind');
    });
    await expect(rolledBack).rejects.toThrow('changed my mind');
    await database.system(async () => {
      database.notify('parcels', 'committed');
      database.notify('parcels', 'committed');
      await database.system(async () => database.notify('parcels', 'committed inside'));
      database.notify('letters', 'nobody listens to these');
      expect(heard).toEqual([]);
    });
    await isHeard('committed inside');
    database.notify('parcels', 'without a transaction');
    await isHeard('without a transaction');
    expect(heard).toEqual(['committed', 'committed inside', 'without a transaction']);
  });

  it('come also on a channel that is listened to later, until its listener leaves', async () => {
    const later: (string | null)[] = [];
    const leave = notifications.listen('letters', (payload) => later.push(payload));
    await eventually('it hears', async () => {
      database.notify('letters', 'a');
      return later.includes('a');
    });
    leave();
    const before = later.length;
    notifications.listen('letters', () => heard.push('by another'));
    database.notify('letters', 'b');
    await isHeard('by another');
    await database.system(async () => database.notify('parcels', 'end'));
    await isHeard('end');
    expect(later).toHaveLength(before);
  });

  it('that may have been missed while the connection was lost make everybody look', async () => {
    if (redis === undefined)
      await test.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'mailwright-listen' and datname = current_database()`,
      );
    else {
      await redis.stop();
      redis = await startRedis(redis.port);
    }
    await isHeard(null);
    await eventually('it hears again', async () => {
      database.notify('parcels', 'again');
      return heard.includes('again');
    });
  });
});

describe('a commit', () => {
  it('never waits for other commits’ wake-ups: nothing in the schema notifies', async () => {
    const test = await createTestDatabase();
    const notifying = await test.query(
      `select p.oid::regprocedure::text as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
       where n.nspname not in ('bullmq', 'pg_catalog', 'information_schema') and p.prosrc ~* 'notify'`,
    );
    expect(notifying).toEqual([]);
    await test.drop();
  });
});
