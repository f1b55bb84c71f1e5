import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { startSystem } from '#testing/programs/system';
import {
  CampaignRun,
  type CampaignOnItsWay,
  DEADLINE_MS,
  inForm,
  RECIPIENTS,
  type SentRow,
} from './campaign-run.fixture.js';

const CONNECTIONS = 5;
const SHARE = 0.5;
const VARIANTS = ['A', 'B', 'C'].map((name) => ({ name, subject: `Variant ${name}` }));
const TEST = { sharePercent: SHARE * 100, decideAfter: 'PT1H', by: 'CLICKS', ifUndecided: 'LEADER' };
const KILLS = inForm(3, 10);
const MOST_IN_DOUBT = CONNECTIONS * 2 * KILLS;

type Row = SentRow & { readonly address: string; readonly variant: number | null };

describe('an A/B test whose two workers are killed before, at and after its decision', () => {
  let run: CampaignRun;
  let campaign: CampaignOnItsWay;
  let rows: readonly Row[];

  beforeAll(async () => {
    run = await CampaignRun.open(CONNECTIONS, {}, startSystem, 'raw');
    await run.addWorker();
    campaign = await run.send('TESTS', RECIPIENTS, undefined, undefined, {
      variants: VARIANTS,
      test: TEST,
    });
    const { database } = run.system;
    // An hour takes a second.
    await database.query(`update messaging.campaigns set test = jsonb_set(test, '{decideAfter}', '"PT1S"')`);
    await killWhile('the test', RECIPIENTS * SHARE);
    await eventually(
      'it is decided',
      async () => {
        await database.query(
          `update platform.jobs set run_at = now() where name = 'campaigns.decide_variant' and finished_at is null and run_at > now()`,
        );
        return (await campaign.client.get(campaign.path)).at('testPhase') === 'DECIDED';
      },
      DEADLINE_MS,
    );
    await run.replaceWorker(0);
    await killWhile('the rest', RECIPIENTS);
    await campaign.isSent();
    rows = await database.query<Row>(
      'select message_id, state, possible_duplicate, address, variant from messaging.deliveries',
    );
  }, DEADLINE_MS * 2);

  afterAll(() => run?.close());

  /** Each time when some more have been sent, nobody knows how many. */
  async function killWhile(part: string, until: number): Promise<void> {
    for (let left = KILLS; left > 0; left -= 1) {
      const open = 0.9 * until - MOST_IN_DOUBT - run.sink.count();
      if (open < 2) return;
      const next = run.sink.count() + randomInt(1, Math.max(2, Math.floor(open / (left + 1))));
      await eventually(`some more of ${part} are sent`, () => run.sink.count() >= next, DEADLINE_MS);
      await run.replaceWorker(randomInt(run.workers.length));
    }
  }

  it('writes to everybody once, says what it repeats, and bills each once', async () => {
    expect(rows).toHaveLength(RECIPIENTS);
    expect(new Set(rows.map(({ address }) => address)).size).toBe(RECIPIENTS);
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['SENT']));
    const received = await campaign.received();
    expect(received.size).toBe(RECIPIENTS);
    const repeated = [...received].flatMap(([messageId, times]) => (times > 1 ? [messageId] : []));
    const marked = rows.filter((row) => row.possible_duplicate).map((row) => row.message_id);
    expect(marked.length).toBeLessThanOrEqual(MOST_IN_DOUBT);
    expect(marked).toEqual(expect.arrayContaining(repeated));
    expect(await campaign.usage()).toEqual({ used: RECIPIENTS, reserved: 0 });
  });

  it('tries each variant with its share, within three standard deviations', () => {
    const within = (found: number, share: number) => {
      const deviation = Math.sqrt(RECIPIENTS * share * (1 - share));
      expect(Math.abs(found - RECIPIENTS * share)).toBeLessThanOrEqual(3 * deviation);
    };
    within(rows.filter(({ variant }) => variant !== null).length, SHARE);
    for (const number of VARIANTS.keys())
      within(rows.filter(({ variant }) => variant === number + 1).length, SHARE / VARIANTS.length);
  });

  it('is decided once, and everybody gets their variant, the rest the winner, also in what is repeated', async () => {
    const report = await campaign.client.get(`${campaign.path}/report/variants`);
    const winner = (await campaign.client.get(campaign.path)).at<number>('winningVariant');
    const decisions = await run.system.database.query(
      `select 1 from platform.jobs where name = 'campaigns.release_rest'`,
    );
    expect([report.status, decisions.length]).toEqual([200, 1]);
    const subjects = new Map(run.sink.messages.map(({ messageId }) => [messageId, new Set<string>()]));
    for (const { messageId, raw } of run.sink.messages)
      subjects.get(messageId)?.add(/^Subject: (.*)$/m.exec(raw.toString('latin1'))?.[1]?.trim() ?? '');
    const wrong = rows.filter((row) => {
      const expected = VARIANTS[(row.variant ?? winner) - 1]?.subject;
      return [...(subjects.get(row.message_id) ?? [])].join('|') !== expected;
    });
    expect(wrong).toEqual([]);
  });
});
