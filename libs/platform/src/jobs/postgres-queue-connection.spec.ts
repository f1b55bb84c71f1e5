import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { Outage } from '../lifecycle/outage.js';
import { createQueueBackend, type QueueBackend } from './queue-backend.js';

let test: TestDatabase;
let told: string[];
const pools: pg.Pool[] = [];

beforeEach(async () => {
  test = await createTestDatabase();
  told = [];
});

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end()));
  await test.drop();
});

function backendOf(url: string): QueueBackend {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  pools.push(pool);
  const outage = new Outage(() => pool.query('select 1'));
  const listener = { begins: () => told.push('away'), ends: () => told.push('back') };
  outage.tell(listener);
  return createQueueBackend({
    databaseUrl: url,
    redisUrl: undefined,
    databaseOutage: outage,
    redisOutage: listener,
    onError: ({ message }) => told.push(message),
  });
}

/** PostgreSQL at another port. */
async function forward(port: number, to: URL): Promise<Server> {
  const server = createServer((client) => {
    const upstream = connect(Number(to.port), to.hostname);
    for (const [from, onto] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      from.on('error', () => onto.destroy()).pipe(onto);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

describe('a queue on PostgreSQL', () => {
  it('works on whatever connection is cut, and tells of each at most once', async () => {
    const backend = backendOf(test.url);
    const taken: number[] = [];
    const consumer = backend.consumer('mail', 1, async ({ jobId }) => void taken.push(jobId));
    const queue = backend.queue('mail');
    const terminate = async () =>
      (
        await test.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid() and application_name in ('mailwright-queue', 'mail')`,
        )
      ).length;
    let cut = 0;
    for (let jobId = 1; jobId <= 3; jobId += 1) {
      cut += await eventually('it is connected and cut', async () => (await terminate()) || null);
      const add = () => queue.add([{ id: `${jobId}-0`, name: 'n', data: { v: 2, jobId } }]);
      await eventually('it is added', () =>
        add()
          .then(() => true)
          .catch(() => false),
      );
      await eventually('the job is taken', () => taken.includes(jobId));
    }
    await eventually('its end is told', () => told.at(-1) === 'back');
    await consumer.close(true);
    await queue.close();
    expect(told).toEqual(told.map((_, at) => (at % 2 === 0 ? 'away' : 'back')));
    expect(told.length).toBeLessThanOrEqual(2 * cut);
  });

  it('begins when PostgreSQL is there, however long before it was asked to', async () => {
    const direct = new URL(test.url);
    const port = await freePort();
    const url = new URL(test.url);
    url.hostname = '127.0.0.1';
    url.port = String(port);
    const backend = backendOf(url.href);
    const taken: number[] = [];
    const consumer = backend.consumer('mail', 1, async ({ jobId }) => void taken.push(jobId));
    const queue = backend.queue('mail');
    await eventually('it is told that PostgreSQL is away', () => told.length > 0);
    const server = await forward(port, direct);
    await queue.add([{ id: '1-0', name: 'n', data: { v: 2, jobId: 1 } }]);
    await eventually('the job is taken', () => taken.includes(1));
    await eventually('its end is told', () => told.length === 2);
    expect(told).toEqual(['away', 'back']);
    await consumer.close(true);
    await queue.close();
    server.close();
  });
});
