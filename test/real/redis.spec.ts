import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CampaignRun } from '../long/chaos/campaign-run.fixture.js';
import { eventually } from '#testing/eventually';
import { describeWith } from './parts.js';
import { type RealRedis, startRealRedis } from './support/redis.js';

const RECIPIENTS = 300;
/** What a process says of an outage: that it began, and that it is over. */
const LINES = 2;

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

  const linesOf = (output: string) =>
    output
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { msg: string }).msg);

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
      'the queue does not answer: REDIS_URL leads to it',
      'the queue answers again',
    ]);
    expect(linesOf(api.output()).filter((msg) => msg.includes('REDIS_URL'))).toEqual([
      'requests get 503: REDIS_URL does not answer',
      'requests are answered again: REDIS_URL does',
    ]);
  });
});
