import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { newId, type ProjectScope } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { createProject } from '#testing/fixtures/fixtures';
import { startRedis, type TestRedis } from '#testing/programs/redis';
import { statementText, textsCompiledBy } from '#testing/postgres/statement-text';
import { Database } from '../database/database.js';
import type { Notifications } from '../notifications.js';
import { PostgresNotifications } from '../postgres-notifications.js';
import { RedisNotifications, redisTransport } from '../redis-notifications.js';
import {
  cancel,
  done,
  Job,
  JobCatalogue,
  type JobContext,
  type JobResult,
  jobType,
  type NewJob,
  ResumableJob,
  snooze,
} from './job.js';
import { JobDispatcher } from './job-dispatcher.js';
import { JobMetrics, JobRunner } from './job-runner.js';
import { enqueue, finishJob, leaseJob, offerDueJobs } from './jobs.repository.js';
import { createQueueBackend, type QueueBackend } from './queue-backend.js';

const noteParcel = jobType<{ parcel: string }>('parcels.note', 'mail');
const walkRoute = jobType<{ route: string }>('routes.walk', 'campaigns');

const SILENT = { begins: () => undefined, ends: () => undefined };

type Behaviour = (context: JobContext) => Promise<JobResult> | JobResult;

/** Writes one row each time it runs to its end, so that the test can count. */
class Parcels {
  behaviour: Behaviour = () => done;
  runs = 0;

  constructor(private readonly database: Database) {}

  @Job(noteParcel)
  async note(scope: ProjectScope, { parcel }: { parcel: string }, context: JobContext) {
    this.runs += 1;
    await sql`insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at)
      values (${scope.environmentId}, ${`${parcel}-${this.runs}`}, ${parcel}, 'HARD_BOUNCE', now())`.execute(
      this.database.tables(),
    );
    return this.behaviour(context);
  }
}

class Routes {
  started: JobContext[] = [];
  end: (context: JobContext) => Promise<JobResult> = () => Promise.resolve(done);

  @ResumableJob(walkRoute)
  walk(_scope: ProjectScope, _payload: { route: string }, context: JobContext): Promise<JobResult> {
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
  let parcels: Parcels;
  let routes: Routes;
  let dispatcher: JobDispatcher;
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
    parcels = new Parcels(database);
    routes = new Routes();
    backend = createQueueBackend({
      databaseUrl: test.url,
      redisUrl: redis?.url,
      databaseOutage: database.outage,
      redisOutage: SILENT,
      onError: () => undefined,
    });
    const catalogue = new JobCatalogue(() => [parcels, routes], [noteParcel, walkRoute]);
    const logger = pino({ level: 'silent' });
    dispatcher = new JobDispatcher(database, notifications, backend, catalogue, logger);
    runner = new JobRunner(database, backend, catalogue, logger, new JobMetrics(new Registry()));
    dispatcher.start();
    runner.start();
  });

  afterEach(async () => {
    await dispatcher.stop();
    await runner.stop(2_000);
    await backend.close();
    await notifications.stop();
    await database.close();
    await test.drop();
  });

  const add = (...jobs: NewJob[]) => database.transaction(scope, () => enqueue(database, scope, ...jobs));
  const row = async () => {
    const [first] = await test.query<{
      id: number;
      state: string;
      failures: number;
      last_error: string | null;
      lease_until: Date | null;
    }>('select id::int, state, failures, last_error, lease_until from platform.jobs');
    return first;
  };
  const ends = (state: string) =>
    eventually(`the job is ${state}`, async () => (await row())?.state === state);
  const effects = async () => (await test.query('select 1 from audience.suppressions')).length;
  /** Moves the time and waits, as the dispatcher looks by itself every second. */
  const later = (milliseconds: number) => clock.advance(milliseconds);

  it('runs a job once, however often it is woken', async () => {
    await add(noteParcel({ parcel: 'a' }));
    await ends('DONE');
    const id = (await row())?.id ?? 0;
    await Promise.all([runner.process(id), runner.process(id), runner.process(id)]);
    expect([parcels.runs, await effects()]).toEqual([1, 1]);
  });

  it('runs a job whose wake-up was lost', async () => {
    const lost = { send: () => Promise.reject(new Error('killed after its commit')), close: () => undefined };
    const options = { url: test.url, poolSize: 2, applicationName: 'spec', entities: [], clock };
    const killed = await Database.connect({ ...options, notificationTransport: lost });
    await killed.transaction(scope, () => enqueue(killed, scope, noteParcel({ parcel: 'silent' })));
    await ends('DONE');
    expect(parcels.runs).toBe(1);
    await killed.close();
  });

  it('runs no job whose transaction was rolled back', async () => {
    await expect(
      database.transaction(scope, async () => {
        await enqueue(database, scope, noteParcel({ parcel: 'never' }));
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    await add(noteParcel({ parcel: 'b' }));
    await ends('DONE');
    expect(parcels.runs).toBe(1);
  });

  it('takes back what a failed try had written, and tries again later', async () => {
    parcels.behaviour = ({ failures }) => {
      if (failures === 0) throw new Error('ada@example.com was not at home');
      return done;
    };
    await add(noteParcel({ parcel: 'c' }));
    await eventually('it failed once', async () => (await row())?.failures === 1);
    expect(await effects()).toBe(0);
    expect((await row())?.last_error).toBe('Error: [address] was not at home');
    later(2_000);
    await ends('DONE');
    expect([parcels.runs, await effects()]).toEqual([2, 1]);
  });

  it('lets a job wait until its time, and gives up one that says so', async () => {
    const until = new Date(clock.now().getTime() + 3_600_000);
    parcels.behaviour = () => (clock.now() < until ? snooze(until) : cancel('too late'));
    await add(noteParcel({ parcel: 'd' }));
    await eventually('it waits', async () => parcels.runs === 1 && (await row())?.lease_until === null);
    later(3_600_000);
    await ends('CANCELLED');
    expect([parcels.runs, (await row())?.last_error]).toEqual([2, 'too late']);
  });

  it('gives a job whose worker died to another one when the lease is over', async () => {
    const { promise: hangs, resolve: release } = Promise.withResolvers<JobResult>();
    routes.end = () => (routes.started.length === 1 ? hangs : Promise.resolve(done));
    await database.transaction(scope, () => enqueue(database, scope, walkRoute({ route: 'x' })));
    await eventually('it started', () => routes.started.length === 1);
    // As if the first one had been stopped for longer than its lease holds.
    later(60_000);
    await ends('DONE');
    expect(routes.started).toHaveLength(2);
    release(cancel('woke up too late'));
    await eventually('the late one has ended', async () => (await row())?.lease_until === null);
    expect((await row())?.state).toBe('DONE');
  });

  it('fills a queue that has lost everything again from the tables', async () => {
    await runner.stop(2_000);
    await add(noteParcel({ parcel: 'e' }), noteParcel({ parcel: 'f' }));
    await eventually('both are queued', async () => {
      const rows = await test.query('select 1 from platform.jobs where enqueued_at is not null');
      return rows.length === 2;
    });
    await forgetQueue();
    runner.start();
    later(10_000);
    await eventually('both are done', async () => {
      const rows = await test.query(`select 1 from platform.jobs where state = 'DONE'`);
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

describe('the hand-over of jobs', () => {
  it('is made by the statements of test/statements', async () => {
    const test = await createTestDatabase();
    const options = { url: test.url, poolSize: 1, applicationName: 'spec', entities: [] };
    const database = await Database.connect(options);
    const scope = (await createProject(test)).test;
    const texts = await textsCompiledBy(async () => {
      const job = noteParcel({ parcel: 'a' });
      await database.transaction(scope, () => enqueue(database, scope, job));
      const [due] = await offerDueJobs(database, 10);
      const leased = await leaseJob(database, due!.id, newId());
      await database.system(() => finishJob(database, leased!, done));
    });
    for (const name of ['enqueue_jobs', 'offer_jobs', 'lease_job', 'change_job']) {
      const { now, committed } = await statementText(name, texts);
      expect(now).toBe(committed);
    }
    await database.close();
    await test.drop();
  });
});

describe('JobCatalogue', () => {
  const queuesOf = (instances: readonly object[], types: ConstructorParameters<typeof JobCatalogue>[1]) =>
    new JobCatalogue(() => instances, types).queues;

  it('refuses two handlers of a job, and a job without one', () => {
    const routes = new Routes();
    const types = [noteParcel, walkRoute];
    expect(() => queuesOf([routes, new Routes()], types)).toThrow('Two methods handle the job routes.walk.');
    expect(() => queuesOf([routes], types)).toThrow('No method handles parcels.note.');
    expect(queuesOf([routes, routes], [walkRoute])).toEqual(['campaigns']);
  });

  it('refuses two jobs of one name', () => {
    expect(() => queuesOf([new Routes()], [walkRoute, walkRoute])).toThrow(
      'Two kinds of jobs are called routes.walk.',
    );
  });
});
