import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { CampaignRun, DEADLINE_MS, inForm } from './campaign-run.fixture.js';

const CONNECTIONS = 3;
const RECIPIENTS = inForm(600, 20_000);

describe('a worker that hangs', () => {
  let run: CampaignRun;

  beforeAll(async () => {
    run = await CampaignRun.open(CONNECTIONS);
  });

  afterAll(() => run?.close());

  const everyDelivery = () =>
    run.system.database.query(
      'select d.*, d.xmin::text as version from messaging.deliveries d order by d.id',
    );

  it(
    'has its campaign taken from it, and writes nothing when it wakes',
    async () => {
      const campaign = await run.send('NEWS', RECIPIENTS);
      await eventually('some are sent', () => run.sink.count() > RECIPIENTS * 0.1, DEADLINE_MS);
      const hanging = run.system.worker;
      process.kill(hanging.pid, 'SIGSTOP');
      await run.addWorker();
      await campaign.isSent();
      const before = await everyDelivery();
      process.kill(hanging.pid, 'SIGCONT');
      // It ends the conversations that it was in, records nothing, hands nothing back, and stops.
      expect(await hanging.stop()).toBe(0);
      expect(await everyDelivery()).toEqual(before);
      const received = await campaign.received();
      expect(received.size).toBe(RECIPIENTS);
      const repeated = [...received].flatMap(([messageId, times]) => (times > 1 ? [messageId] : []));
      expect(run.sink.count() - RECIPIENTS).toBeLessThanOrEqual(CONNECTIONS);
      const marked = before
        .filter((row) => row['possible_duplicate'] === true)
        .map((row) => row['message_id']);
      expect(marked).toEqual(expect.arrayContaining(repeated));
    },
    DEADLINE_MS * 2,
  );
});
