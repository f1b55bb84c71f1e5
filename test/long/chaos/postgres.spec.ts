import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { startSystemOn } from '#testing/programs/system';
import { CampaignRun, DEADLINE_MS, inForm, RECIPIENTS } from './campaign-run.fixture.js';
import { CrashingPostgres } from './crashing-postgres.fixture.js';

const CONNECTIONS = 5;
const CRASHES = inForm(2, 5);

describe('a PostgreSQL that is stopped at once, in the middle of a campaign', () => {
  let postgres: CrashingPostgres;
  let run: CampaignRun;

  beforeAll(async () => {
    postgres = await CrashingPostgres.open();
    run = await CampaignRun.open(CONNECTIONS, {}, (variables) =>
      startSystemOn(postgres.database(), variables),
    );
  }, DEADLINE_MS);

  afterAll(async () => {
    await run?.close();
    await postgres?.close();
  });

  it(
    'loses nobody, counts each e-mail once, and repeats at most what was on the wires',
    async () => {
      const campaign = await run.send('NEWS', RECIPIENTS);
      for (let crashes = 1; crashes <= CRASHES; crashes += 1) {
        const share = (RECIPIENTS * crashes) / (CRASHES + 1);
        await eventually('some more are sent', () => run.sink.count() >= share, DEADLINE_MS);
        await postgres.crash();
      }
      await campaign.isSent();
      const rows = await campaign.rows();
      const received = await campaign.received();
      expect(received.size).toBe(RECIPIENTS);
      expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['SENT']));
      expect(await campaign.usage()).toEqual({ used: RECIPIENTS, reserved: 0 });
      const repeated = [...received].flatMap(([messageId, times]) => (times > 1 ? [messageId] : []));
      expect(repeated.length).toBeLessThanOrEqual(CONNECTIONS * CRASHES);
      const marked = rows.filter((row) => row.possible_duplicate).map((row) => row.message_id);
      expect(marked).toEqual(expect.arrayContaining(repeated));
    },
    DEADLINE_MS * 2,
  );
});
