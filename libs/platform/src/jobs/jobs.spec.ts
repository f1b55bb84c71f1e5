import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { defineEvent, type ProjectScope } from '#kernel';
import { ManualClock } from '#testing/clocks';
import { createTestDatabase, type TestDatabase } from '#testing/database';
import { eventually } from '#testing/eventually';
import { createProject } from '#testing/fixtures';
import { startRedis, type TestRedis } from '#testing/redis';
import { Database } from '../database/database.js';
import type { Notifications } from '../notifications.js';
import { PostgresNotifications } from '../postgres-notifications.js';
import { RedisNotifications, redisTransport } from '../redis-notifications.js';
import { JobMetrics } from './job-metrics.js';
import { publish } from '../outbox/outbox.js';
import {
  cancel,
  done,
  JobCatalogue,
  type JobContext,
  type JobResult,
  ResumableJob,
  snooze,
  TransactionalJob,
} from './job.js';
import { JobRunner } from './job-runner.js';
import { createQueueBackend, type QueueBackend } from './queue-backend.js';
import { Relay } from './relay.js';

const ParcelSent = defineEvent<{ parcel: string }>('test.parcel_sent.v1');
const RouteOpened = defineEvent<{ route: string }>('test.route_opened.v1');

const SILENT = { begins: () => undefined, ends: () => undefined };

type Behaviour = (context: JobContext) => Promise<JobResult> | JobResult;

/** Writes one row each time it runs to its end, so that the test can count. */
class NoteParcel extends TransactionalJob<{ parcel: string }> {
  override readonly name = 'note-parcel';
  override readonly queue = 'mail';
  override readonly on = ParcelSent;
  behaviour: Behaviour = () => done;
  runs = 0;

  constructor(private readonly database: Database) {
    super();
  }

  override async handle(scope: ProjectScope, { parcel }: { parcel: string }, context: JobContext) {
    this.runs += 1;
    await sql`insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at)
      values (${scope.environmentId}, ${`${parcel}-${this.runs}`}, ${parcel}, 'HARD_BOUNCE', now())`.execute(
      this.database.tables(),
    );
    return this.behaviour(context);
  }
}

class WalkRoute extends ResumableJob<{ route: string }> {
  override readonly name = 'walk-route';
  override readonly queue = 'campaigns';
  override readonly on = RouteOpened;
  started: JobContext[] = [];
  end: (context: JobContext) => Promise<JobResult> = () => Promise.resolve(done);

  override run(_scope: ProjectScope, _payload: { route: string }, context: JobContext): Promise<JobResult> {
    this.started.push(context);
    return this.end(context);
  }
}

describe.each(['postgres', 'redis'] as const)('jobs with the queue on %s', (kind) => {
  let redis: TestRedis | undefined;
  let test: TestDatabase;
  let database: Database;
  let notifications: Notifications;
  let backend: QueueBackend;
  let scope: ProjectScope;
  let clock: ManualClock;
  let note: NoteParcel;
  let walk: WalkRoute;
  let relay: Relay;
  let runner: JobRunner;

  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedis() : undefined;
  });

  afterAll(() => redis?.stop());

  beforeEach(async () => {
    test = await createTestDatabase();
    clock = new ManualClock(new Date());
    database = await Database.connect({
      url: test.url,
      poolSize: 8,
      applicationName: 'spec',
      entities: [],
      clock,
      notificationTransport: redis && redisTransport(redis.url),
    });
    notifications = redis ? new RedisNotifications(redis.url) : new PostgresNotifications(test.url);
    await notifications.start();
    scope = (await createProject(test)).test;
    note = new NoteParcel(database);
    walk = new WalkRoute();
    backend = createQueueBackend({
      databaseUrl: test.url,
      redisUrl: redis?.url,
      databaseOutage: database.outage,
      redisOutage: SILENT,
      onError: () => undefined,
    });
    const catalogue = new JobCatalogue([note, walk], [ParcelSent, RouteOpened]);
    const logger = pino({ level: 'silent' });
    relay = new Relay(database, notifications, backend, catalogue, logger);
    runner = new JobRunner(database, backend, catalogue, logger, new JobMetrics(new Registry()));
    relay.start();
    runner.start();
  });

  afterEach(async () => {
    await relay.stop();
    await runner.stop(2_000);
    await backend.close();
    await notifications.stop();
    await database.close();
    await test.drop();
  });

  const emit = (...events: ReturnType<typeof ParcelSent>[]) =>
    database.transaction(scope, () => publish(database, scope, ...events));
  const inbox = async () => {
    const [row] = await test.query<{
      id: number;
      state: string;
      failures: number;
      last_error: string | null;
      lease_until: Date | null;
    }>('select id::int, state, failures, last_error, lease_until from platform.inbox');
    return row;
  };
  const ends = (state: string) =>
    eventually(`the job is ${state}`, async () => (await inbox())?.state === state);
  const effects = async () => (await test.query('select 1 from audience.suppressions')).length;
  /** Moves the time and waits, as the relay looks by itself every second. */
  const later = (milliseconds: number) => clock.advance(milliseconds);

  it('runs a job once for its event, however often it is woken', async () => {
    await emit(ParcelSent({ parcel: 'a' }));
    await ends('DONE');
    const id = (await inbox())?.id ?? 0;
    await Promise.all([runner.process(id), runner.process(id), runner.process(id)]);
    expect([note.runs, await effects()]).toEqual([1, 1]);
  });

  it('runs a job whose wake-up was lost', async () => {
    const lost = { send: () => Promise.reject(new Error('killed after its commit')), close: () => undefined };
    const options = { url: test.url, poolSize: 2, applicationName: 'spec', entities: [], clock };
    const killed = await Database.connect({ ...options, notificationTransport: lost });
    await killed.transaction(scope, () => publish(killed, scope, ParcelSent({ parcel: 'silent' })));
    await ends('DONE');
    expect(note.runs).toBe(1);
    await killed.close();
  });

  it('starts no job for an event whose transaction was rolled back', async () => {
    await expect(
      database.transaction(scope, async () => {
        await publish(database, scope, ParcelSent({ parcel: 'never' }));
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    await emit(ParcelSent({ parcel: 'b' }));
    await ends('DONE');
    expect(note.runs).toBe(1);
  });

  it('takes back what a failed try had written, and tries again later', async () => {
    note.behaviour = ({ failures }) => {
      if (failures === 0) throw new Error('ada@example.com was not at home');
      return done;
    };
    await emit(ParcelSent({ parcel: 'c' }));
    await eventually('it failed once', async () => (await inbox())?.failures === 1);
    expect(await effects()).toBe(0);
    expect((await inbox())?.last_error).toBe('Error: [address] was not at home');
    later(2_000);
    await ends('DONE');
    expect([note.runs, await effects()]).toEqual([2, 1]);
  });

  it('lets a job wait until its time, and gives up one that says so', async () => {
    const until = new Date(clock.now().getTime() + 3_600_000);
    note.behaviour = () => (clock.now() < until ? snooze(until) : cancel('too late'));
    await emit(ParcelSent({ parcel: 'd' }));
    await eventually('it waits', async () => note.runs === 1 && (await inbox())?.lease_until === null);
    later(3_600_000);
    await ends('CANCELLED');
    expect([note.runs, (await inbox())?.last_error]).toEqual([2, 'too late']);
  });

  it('gives a job whose worker died to another one when the lease is over', async () => {
    const { promise: hangs, resolve: release } = Promise.withResolvers<JobResult>();
    walk.end = () => (walk.started.length === 1 ? hangs : Promise.resolve(done));
    await database.transaction(scope, () => publish(database, scope, RouteOpened({ route: 'x' })));
    await eventually('it started', () => walk.started.length === 1);
    // As if the first one had been stopped for longer than its lease holds.
    later(60_000);
    await ends('DONE');
    expect(walk.started).toHaveLength(2);
    release(cancel('woke up too late'));
    await eventually('the late one has ended', async () => (await inbox())?.lease_until === null);
    expect((await inbox())?.state).toBe('DONE');
  });

  it('fills a queue that has lost everything again from the tables', async () => {
    await runner.stop(2_000);
    await emit(ParcelSent({ parcel: 'e' }), ParcelSent({ parcel: 'f' }));
    await eventually('both are queued', async () => {
      const rows = await test.query('select 1 from platform.inbox where enqueued_at is not null');
      return rows.length === 2;
    });
    await forgetQueue();
    runner.start();
    later(10_000);
    await eventually('both are done', async () => {
      const rows = await test.query(`select 1 from platform.inbox where state = 'DONE'`);
      return rows.length === 2;
    });
    expect(await effects()).toBe(2);
  });

  async function forgetQueue(): Promise<void> {
    if (redis === undefined) {
      const tables = await test.query<{ name: string }>(
        `select format('bullmq.%I', tablename) as name from pg_tables where schemaname = 'bullmq' and tablename like '%job%'`,
      );
      expect(tables.length).toBeGreaterThan(0);
      await test.query(`truncate ${tables.map(({ name }) => name).join(', ')} cascade`);
      return;
    }
    const { Redis } = await import('ioredis');
    const client = new Redis(redis.url);
    await client.flushall();
    client.disconnect();
  }
});

describe('JobCatalogue', () => {
  it('refuses two jobs of one name, and an event that nobody handles', () => {
    expect(() => new JobCatalogue([new WalkRoute(), new WalkRoute()], [])).toThrow(
      'Two jobs are called walk-route.',
    );
    expect(() => new JobCatalogue([new WalkRoute()], [ParcelSent, RouteOpened])).toThrow(
      'No job handles test.parcel_sent.v1.',
    );
  });
});
