import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { CampaignRun, DEADLINE_MS, inForm } from './campaign-run.fixture.js';

const RECIPIENTS = inForm(400, 10_000);
const TIMES = inForm(20, 100);

describe('an operator who terminates all connections to PostgreSQL, again and again', () => {
  let run: CampaignRun;

  beforeAll(async () => {
    run = await CampaignRun.open(5);
  }, DEADLINE_MS);

  afterAll(() => run?.close());

  const terminateAll = () =>
    run.system.database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and application_name <> ''`,
    );

  it(
    'ends neither the api nor the worker, and everybody gets the mail',
    async () => {
      const campaign = await run.send('TERM', RECIPIENTS);
      for (let time = 1; time <= TIMES; time += 1) {
        const share = (RECIPIENTS * time) / (TIMES + 1);
        await eventually('some more are sent', () => run.sink.count() >= share, DEADLINE_MS);
        await terminateAll();
      }
      await campaign.isSent();
      expect((await campaign.received()).size).toBe(RECIPIENTS);
      expect(await campaign.usage()).toEqual({ used: RECIPIENTS, reserved: 0 });
      for (const { port } of [run.system.api, run.system.worker])
        expect((await fetch(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200);
    },
    DEADLINE_MS,
  );
});
