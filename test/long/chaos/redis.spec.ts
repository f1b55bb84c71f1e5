import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from '#testing/time/eventually';
import { startRedis, type TestRedis } from '#testing/programs/redis';
import { type CampaignOnItsWay, CampaignRun, DEADLINE_MS, inForm } from './campaign-run.fixture.js';

const TIMES = inForm(2, 5);
const RECIPIENTS = inForm(200, 5_000);

describe('a Redis that is emptied and killed', () => {
  let redis: TestRedis;
  let run: CampaignRun;

  beforeAll(async () => {
    redis = await startRedis();
    run = await CampaignRun.open(5, { REDIS_URL: redis.url });
  }, DEADLINE_MS);

  afterAll(async () => {
    await run?.close();
    await redis?.stop();
  });

  async function emptyAndKill(): Promise<void> {
    const client = new Redis(redis.url);
    await client.flushall();
    client.disconnect();
    await redis.stop();
    redis = await startRedis(redis.port);
  }

  it(
    'takes no campaign with it, and mail goes out again',
    async () => {
      const campaigns: CampaignOnItsWay[] = [];
      for (let time = 0; time < TIMES; time += 1) {
        const campaign = await run.send(`RED${String.fromCharCode(65 + time)}`, RECIPIENTS);
        campaigns.push(campaign);
        await emptyAndKill();
        const before = run.sink.count();
        await eventually(
          'mail goes out again',
          async () => run.sink.count() > before || (await campaign.received()).size === RECIPIENTS,
        );
      }
      for (const campaign of campaigns) {
        await campaign.isSent();
        const received = await campaign.received();
        expect(received.size).toBe(RECIPIENTS);
        expect(new Set(received.values())).toEqual(new Set([1]));
        expect(await campaign.usage()).toEqual({ used: RECIPIENTS, reserved: 0 });
      }
    },
    DEADLINE_MS * 2,
  );
});
