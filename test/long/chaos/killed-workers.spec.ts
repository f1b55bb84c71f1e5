import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import {
  CampaignRun,
  type CampaignOnItsWay,
  DEADLINE_MS,
  inForm,
  RECIPIENTS,
} from './campaign-run.fixture.js';

const CONNECTIONS = 5;
const KILLS = inForm(3, 20);
const MOST_IN_DOUBT = CONNECTIONS * KILLS;

describe('two workers that are killed in the middle of campaigns', () => {
  let run: CampaignRun;
  let resending: CampaignOnItsWay;
  let holding: CampaignOnItsWay;

  beforeAll(async () => {
    run = await CampaignRun.open(CONNECTIONS);
    await run.addWorker();
    holding = await run.send('HOLD', RECIPIENTS, 'HOLD');
    resending = await run.send('RESEND', RECIPIENTS);
    await killAtRandom();
    await Promise.all([resending.isSent(), holding.isSent()]);
  }, DEADLINE_MS * 2);

  afterAll(() => run?.close());

  /** Each time when some more have been sent, nobody knows how many. Those that are held may be missing at the end. */
  async function killAtRandom(): Promise<void> {
    for (let left = KILLS; left > 0; left -= 1) {
      const open = 2 * RECIPIENTS - MOST_IN_DOUBT - run.sink.count();
      if (open < 2) return;
      const next = run.sink.count() + randomInt(1, Math.max(2, Math.floor(open / (left + 1))));
      await eventually('some more are sent', () => run.sink.count() >= next, DEADLINE_MS);
      await run.replaceWorker(randomInt(run.workers.length));
    }
  }

  it('lose nobody', async () => {
    const rows = await resending.rows();
    expect(rows).toHaveLength(RECIPIENTS);
    expect((await resending.received()).size).toBe(RECIPIENTS);
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['SENT']));
    expect(await resending.usage()).toEqual({ used: RECIPIENTS, reserved: 0 });
  });

  it('repeat at most what was on their connections, and say so', async () => {
    const received = await resending.received();
    const repeated = [...received].flatMap(([messageId, times]) => (times > 1 ? [messageId] : []));
    const marked = (await resending.rows()).filter((row) => row.possible_duplicate);
    expect(Math.max(...received.values())).toBeLessThanOrEqual(2);
    expect(repeated.length).toBeLessThanOrEqual(MOST_IN_DOUBT);
    expect(marked.length).toBeLessThanOrEqual(MOST_IN_DOUBT);
    expect(marked.map((row) => row.message_id)).toEqual(expect.arrayContaining(repeated));
  });

  it('repeat nothing where mails in doubt are held, and show which those are', async () => {
    const received = await holding.received();
    const rows = await holding.rows();
    expect([...received.values()].filter((times) => times > 1)).toEqual([]);
    const held = rows.filter(({ state }) => state === 'AMBIGUOUS');
    expect(held.length).toBeLessThanOrEqual(MOST_IN_DOUBT);
    const sent = rows.filter(({ state }) => state === 'SENT');
    expect(sent.length + held.length).toBe(RECIPIENTS);
    expect(sent.filter((row) => !received.has(row.message_id))).toEqual([]);
    expect(await holding.usage()).toEqual({ used: RECIPIENTS, reserved: 0 });
  });
});
