import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { ApiClient } from '#testing/http/api-client';
import { createTestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { type ForwardedPort, forwardPort } from '#testing/servers/forwarded-port';
import type { RunningProgram } from '#testing/programs/program';
import { startRedis, type TestRedis } from '#testing/programs/redis';
import { type RunningSystem, startSystemOn } from '#testing/programs/system';

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly reason?: string;
}

const linesOf = (program: RunningProgram): Line[] =>
  program
    .output()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);

const readinessOf = async ({ port }: { readonly port: number }) => {
  const answer = await fetch(`http://127.0.0.1:${port}/health/ready`);
  return { code: answer.status, ...((await answer.json()) as object) };
};

const isLoud = ({ level }: Line) => level === 'warn' || level === 'error';

const MISSING_REQUESTS = 'requests are missing in the log of requests';

/** So often a loop of the worker has failed by then. */
const PASSES = 3;

describe('while PostgreSQL is away', () => {
  let forwarded: ForwardedPort;
  let system: RunningSystem;
  let client: ApiClient;

  beforeAll(async () => {
    const database = await createTestDatabase();
    const url = new URL(database.url);
    forwarded = await forwardPort(new URL(database.url));
    url.port = String(forwarded.port);
    system = await startSystemOn(database, { DATABASE_URL: url.href, LOG_LEVEL: 'debug' });
    client = await (await system.project()).client('TEST');
  });
  afterAll(async () => {
    await forwarded?.restore();
    await system?.stop();
    await forwarded?.cut();
  });

  it('each program says so once, and once that it is back, and requests get 503', async () => {
    expect((await client.get('/topics')).status).toBe(200);
    await forwarded.cut();
    for (let request = 0; request < PASSES; request += 1) {
      const answer = await client.get('/topics');
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    }
    await eventually('the worker has tried again and again', () => {
      const failures = linesOf(system.worker).filter(
        ({ msg }) => msg === 'jobs cannot be handed to the queue',
      );
      return failures.length >= PASSES;
    });
    expect(await readinessOf(system.worker)).toMatchObject({
      code: 503,
      checks: { database: 'failed' },
      reasons: { database: expect.stringContaining('PostgreSQL does not answer') },
    });
    await forwarded.restore();
    await eventually('requests are answered', async () => (await client.get('/topics')).status === 200);
    for (const program of [system.api, system.worker]) {
      await eventually('its end is told', () => linesOf(program).some(({ msg }) => msg.endsWith('again')));
      // Told of requests that were answered before it was gone.
      const loud = linesOf(program).filter((line) => isLoud(line) && line.msg !== MISSING_REQUESTS);
      expect(loud.map(({ level, msg }) => `${level}: ${msg}`)).toEqual([
        'error: PostgreSQL cannot be used',
        'warn: PostgreSQL can be used again',
      ]);
    }
  });
});

describe('a PostgreSQL that can be read and has no room to write', () => {
  let system: RunningSystem;

  beforeAll(async () => {
    system = await startSystemOn(await createTestDatabase());
  });
  afterAll(() => system?.stop());

  /** Stands for a disk that is full: the real one is in test/real. */
  async function limitRoom(limit: string): Promise<void> {
    const name = new URL(system.database.url).pathname.slice(1);
    await system.database.query(`alter database ${name} ${limit}`);
    await system.database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
  }

  it('keeps the programs from being ready, who say why', async () => {
    await limitRoom(`set temp_file_limit = '64kB'`);
    for (const program of [system.api, system.worker])
      expect(
        await eventually('it has connected again', async () => {
          const readiness = await readinessOf(program);
          return JSON.stringify(readiness).includes('temp_file_limit') ? readiness : null;
        }),
      ).toMatchObject({ code: 503, checks: { database: 'failed' } });
    await limitRoom('reset temp_file_limit');
    for (const program of [system.api, system.worker])
      await eventually('it is ready', async () => (await readinessOf(program)).code === 200);
  });
});

describe('a Redis that answers with errors', () => {
  let redis: TestRedis;
  let admin: Redis;
  let system: RunningSystem;
  let client: ApiClient;
  let confirmation: string;

  beforeAll(async () => {
    redis = await startRedis();
    admin = new Redis(redis.url);
    system = await startSystemOn(await createTestDatabase(), { REDIS_URL: redis.url });
    client = await (await system.project()).client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: true });
    await client.post('/subscribers', {
      email: 'ada@example.com',
      topicKeys: [topic.at('topicKey')],
      consent: { source: 'form' },
    });
    confirmation = await eventually('the mail to confirm', async () => {
      const inbox = await client.get('/test-inbox/messages');
      return inbox.at<unknown[]>('data').length > 0 ? inbox.at('data', 0, 'links', 'confirm') : null;
    });
  });
  afterAll(async () => {
    admin?.disconnect();
    await system?.stop();
    await redis?.stop();
  });

  it.each([
    {
      mood: 'is out of memory',
      begin: () => admin.config('SET', 'maxmemory', '1'),
      end: () => admin.config('SET', 'maxmemory', '0'),
      reason: /maxmemory/,
    },
    {
      mood: 'has become a replica',
      begin: () => admin.replicaof('127.0.0.1', 1),
      end: () => admin.replicaof('NO', 'ONE'),
      reason: /replica/,
    },
  ])(
    '$mood: keys get 503, readers their pages, and it is told in two lines',
    async ({ begin, end, reason }) => {
      const [apiBefore, workerBefore] = [linesOf(system.api).length, linesOf(system.worker).length];
      await begin();
      for (let request = 0; request < 5; request += 1) {
        const answer = await client.get('/topics');
        expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
        expect(answer.body).toMatchObject({ type: expect.stringMatching(/unavailable$/) });
      }
      expect((await fetch(confirmation)).status).toBe(200);
      for (const page of ['/c/', '/u/', '/p/', '/v/', '/r/', '/i/', '/o/', '/l/'])
        expect((await fetch(`${system.baseUrl}${page}forged`)).status).toBe(404);
      expect(await readinessOf(system.api)).toMatchObject({
        code: 503,
        checks: { rateLimit: 'failed', database: 'ok' },
        reasons: { rateLimit: expect.stringMatching(reason) },
      });
      expect(await readinessOf(system.worker)).toMatchObject({ code: 503, checks: { queue: 'failed' } });
      await end();
      await eventually('requests are answered', async () => (await client.get('/topics')).status === 200);
      const created = await client.post('/topics', { name: 'More', doubleOptInEnabled: true });
      const email = `${created.at('topicKey').toLowerCase()}@example.com`;
      await client.post('/subscribers', {
        email,
        topicKeys: [created.at('topicKey')],
        consent: { source: 'form' },
      });
      await eventually('jobs run', async () => {
        const inbox = await client.get(`/test-inbox/messages?to=${email}`);
        return inbox.at<unknown[]>('data').length > 0;
      });
      expect(linesOf(system.api).slice(apiBefore)).toEqual([
        expect.objectContaining({
          msg: 'requests get 503: Redis cannot be used',
          reason: expect.stringMatching(reason),
        }),
        expect.objectContaining({ msg: 'requests are answered again: Redis can be used' }),
      ]);
      const told = linesOf(system.worker)
        .slice(workerBefore)
        .map(({ msg }) => msg);
      expect([
        [],
        ['jobs wait: Redis, which has the queue, cannot be used', 'jobs go on: Redis can be used'],
      ]).toContainEqual(told);
    },
  );
});
