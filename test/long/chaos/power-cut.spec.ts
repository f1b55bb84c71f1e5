import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { startSystemOn } from '#testing/programs/system';
import {
  type CampaignOnItsWay,
  CampaignRun,
  DEADLINE_MS,
  inForm,
  RECIPIENTS,
} from './campaign-run.fixture.js';
import { CrashingPostgres } from './crashing-postgres.fixture.js';

const CONNECTIONS = 5;
const CUTS = inForm(1, 5);

describe('PostgreSQL and the worker, ended at the same moment in the middle of campaigns', () => {
  let postgres: CrashingPostgres;
  let run: CampaignRun;
  let resending: CampaignOnItsWay;
  let holding: CampaignOnItsWay;

  beforeAll(async () => {
    postgres = await CrashingPostgres.open();
    run = await CampaignRun.open(CONNECTIONS, {}, (variables) =>
      startSystemOn(postgres.database(), variables),
    );
    holding = await run.send('HOLD', RECIPIENTS, 'HOLD');
    resending = await run.send('RESEND', RECIPIENTS);
    for (let cuts = 1; cuts <= CUTS; cuts += 1) {
      const share = (2 * RECIPIENTS * cuts) / (CUTS + 1);
      await eventually('some more are sent', () => run.sink.count() >= share, DEADLINE_MS);
      await postgres.crash(() => run.killWorker(0));
      await run.replaceWorker(0);
    }
    await Promise.all([resending.isSent(), holding.isSent()]);
  }, DEADLINE_MS * 2);

  afterAll(async () => {
    await run?.close();
    await postgres?.close();
  });

  it('lose nobody and count each e-mail once', async () => {
    const rows = await resending.rows();
    expect(rows).toHaveLength(RECIPIENTS);
    expect((await resending.received()).size).toBe(RECIPIENTS);
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['SENT']));
    expect(await resending.usage()).toEqual({ used: RECIPIENTS, reserved: 0 });
  });

  it('mark every mail that went twice', async () => {
    const received = await resending.received();
    const repeated = [...received].flatMap(([messageId, times]) => (times > 1 ? [messageId] : []));
    const marked = (await resending.rows()).filter((row) => row.possible_duplicate);
    expect(marked.map((row) => row.message_id)).toEqual(expect.arrayContaining(repeated));
  });

  it('send nothing twice where mails in doubt are held', async () => {
    const received = await holding.received();
    expect([...received.values()].filter((times) => times > 1)).toEqual([]);
    const rows = await holding.rows();
    const held = rows.filter(({ state }) => state === 'AMBIGUOUS');
    const sent = rows.filter(({ state }) => state === 'SENT');
    expect(sent.length + held.length).toBe(RECIPIENTS);
    expect(sent.filter((row) => !received.has(row.message_id))).toEqual([]);
    expect(held.length).toBeLessThanOrEqual(CONNECTIONS * CUTS);
    expect(await holding.usage()).toEqual({ used: RECIPIENTS, reserved: 0 });
  });
});
