import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { CampaignRun } from '../long/chaos/campaign-run.fixture.js';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { eventually } from '#testing/time/eventually';
import { freePort, isListening } from '#testing/programs/ports';
import { describeWith } from './parts.js';
import { type RealRedis, startRealRedis } from './support/redis.js';

const RECIPIENTS = 300;
/** Lines of a process about an outage: that it began, and that it is over. */
const LINES = 2;

const linesOf = (output: string) =>
  output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { msg: string }).msg);

describeWith(['redis'], 'a redis-server that asks for a password, is killed and comes back', () => {
  let redis: RealRedis;
  let run: CampaignRun;

  beforeAll(async () => {
    redis = await startRealRedis('a-password');
    run = await CampaignRun.open(2, { REDIS_URL: redis.url });
  });

  afterAll(async () => {
    await run?.close();
    await redis?.kill();
  });

  it('lets requests fail at once, is told of in two lines, and nothing is lost', async () => {
    const { api, worker } = run.system;
    const client = await (await run.system.project('LOST')).client('TEST');
    expect((await client.get('/topics')).status).toBe(200);
    const campaign = await run.send('NEWS', RECIPIENTS);
    await redis.kill();
    // Answered while Redis is away, one after the other.
    for (let request = 0; request < 50; request += 1) {
      const answer = await client.get('/topics');
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    const ready = await fetch(`http://127.0.0.1:${api.port}/health/ready`);
    expect(await ready.json()).toMatchObject({ checks: { rateLimit: 'failed', database: 'ok' } });
    await eventually('the worker tells of it', () => linesOf(worker.output()).length > 0);
    await redis.start();
    await eventually('requests are answered', async () => (await client.get('/topics')).status === 200);
    await campaign.isSent();
    expect((await campaign.received()).size).toBe(RECIPIENTS);
    await eventually('its end is told', () => linesOf(worker.output()).length >= LINES);
    expect(linesOf(worker.output())).toEqual([
      'jobs wait: Redis, which has the queue, cannot be used',
      'jobs go on: Redis can be used',
    ]);
    expect(linesOf(api.output())).toEqual([
      'requests get 503: Redis cannot be used',
      'requests are answered again: Redis can be used',
    ]);
  });
});

interface Mood {
  readonly mood: string;
  readonly begin: (admin: Redis, redis: RealRedis) => Promise<unknown>;
  readonly end: (admin: Redis, redis: RealRedis) => Promise<unknown>;
  readonly reason: RegExp;
}

/** A file that cannot be put in its place stands for a disk that is full or gone. */
async function failToSave(admin: Redis, { directory }: RealRedis): Promise<void> {
  await mkdir(join(directory, 'dump.rdb'));
  await admin.config('SET', 'save', '3600 1');
  await admin.bgsave();
  await eventually('the save has failed', async () =>
    (await admin.info('persistence')).includes('rdb_last_bgsave_status:err'),
  );
}

async function save(admin: Redis, { directory }: RealRedis): Promise<void> {
  await rmdir(join(directory, 'dump.rdb'));
  await admin.bgsave();
}

const MOODS: readonly Mood[] = [
  {
    mood: 'is out of memory and evicts nothing (OOM)',
    begin: (admin) => admin.config('SET', 'maxmemory', '1'),
    end: (admin) => admin.config('SET', 'maxmemory', '0'),
    reason: /maxmemory/,
  },
  {
    mood: 'was made a replica by a failover (READONLY)',
    begin: (admin) => admin.replicaof('127.0.0.1', 1),
    end: (admin) => admin.replicaof('NO', 'ONE'),
    reason: /replica/,
  },
  { mood: 'cannot save (MISCONF)', begin: failToSave, end: save, reason: /cannot save/ },
  {
    mood: 'is busy with a script that does not end (BUSY)',
    begin: async (_, { url }) => {
      const endless = new Redis(url);
      endless.eval('while true do end', 0).then(undefined, () => endless.disconnect());
      const other = new Redis(url, { enableReadyCheck: false });
      await eventually('it is busy', async () => {
        const said = await other.get('anything').catch(String);
        return String(said).includes('BUSY');
      });
      other.disconnect();
    },
    end: (admin) => admin.script('KILL'),
    reason: /busy/,
  },
];

describeWith(['redis'], 'a redis-server that answers with errors', () => {
  let redis: RealRedis;
  let admin: Redis;
  let run: CampaignRun;

  beforeAll(async () => {
    redis = await startRealRedis('a-password');
    admin = new Redis(redis.url, { enableReadyCheck: false });
    run = await CampaignRun.open(2, { REDIS_URL: redis.url });
  });

  afterAll(async () => {
    admin?.disconnect();
    await run?.close();
    await redis?.kill();
  });

  it.each(MOODS)(
    '$mood: 503 for keys, pages for readers, all mails in the end',
    async ({ begin, end, reason }) => {
      const { api, worker, baseUrl } = run.system;
      const told = { api: linesOf(api.output()).length, worker: linesOf(worker.output()).length };
      const name = reason.source.slice(-4).toUpperCase();
      const client = await (await run.system.project(`M${name}`)).client('TEST');
      expect((await client.get('/topics')).status).toBe(200);
      const campaign = await run.send(`C${name}`, RECIPIENTS);
      await begin(admin, redis);
      for (let request = 0; request < 20; request += 1) {
        const answer = await client.get('/topics');
        expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
      }
      for (const page of ['c', 'u', 'p', 'v', 'o', 'l'])
        expect((await fetch(`${baseUrl}/${page}/forged`)).status).toBe(404);
      const ready = await fetch(`http://127.0.0.1:${api.port}/health/ready`);
      expect([ready.status, await ready.json()]).toMatchObject([503, { checks: { database: 'ok' } }]);
      await eventually('the worker tells of it', () => linesOf(worker.output()).length > told.worker);
      await end(admin, redis);
      await eventually('requests are answered', async () => (await client.get('/topics')).status === 200);
      await campaign.isSent();
      expect((await campaign.received()).size).toBe(RECIPIENTS);
      await eventually('its end is told', () => linesOf(worker.output()).length >= told.worker + LINES);
      expect(linesOf(api.output()).slice(told.api)).toEqual([
        'requests get 503: Redis cannot be used',
        'requests are answered again: Redis can be used',
      ]);
      expect(linesOf(worker.output()).slice(told.worker)).toEqual([
        'jobs wait: Redis, which has the queue, cannot be used',
        'jobs go on: Redis can be used',
      ]);
    },
  );
});

describeWith(['redis'], 'the redis of docker-compose.yml', () => {
  it('asks for its password, evicts nothing, and is itself the process that is told to stop', async () => {
    const compose = await readFile(join(projectRoot(), 'docker-compose.yml'), 'utf8');
    const [, script = '', command = ''] =
      /entrypoint:\n +- sh\n +- -c\n +- \|\n((?: {8}.*\n)+) +- redis\n +command: \[(--save.*)\]/.exec(
        compose,
      ) ?? [];
    const options = command.split(', ').map((option) => option.replaceAll("'", ''));
    const port = await freePort();
    const shell = ['-c', script.replaceAll(/^ {8}/gm, '').replaceAll('$$', '$'), 'redis', ...options];
    const child = spawn('sh', [...shell, '--port', String(port), '--bind', '127.0.0.1'], {
      env: { ...process.env, REDIS_PASSWORD: 'a-password' },
      stdio: 'ignore',
    });
    const exit = once(child, 'exit');
    try {
      await eventually('redis-server listens', () => isListening(port));
      const known = new Redis(port, { password: 'a-password' });
      expect(await known.config('GET', 'requirepass')).toEqual(['requirepass', 'a-password']);
      expect(await known.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
      known.disconnect();
    } finally {
      child.kill('SIGTERM');
    }
    expect(await exit).toEqual([0, null]);
  });
});
