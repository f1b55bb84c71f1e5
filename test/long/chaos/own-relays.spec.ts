import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import {
  type CampaignOnItsWay,
  CampaignRun,
  DEADLINE_MS,
  inForm,
  type ShownDelivery,
} from './campaign-run.fixture.js';
import { ChaoticRelay, type HandedOver } from './chaotic-relay.fixture.js';

const RECIPIENTS = Number(process.env['CHAOS_RECIPIENTS'] ?? inForm(5_000, 20_000));
const CONNECTIONS = 5;
const LOST_REPLIES = 3;

describe.each([
  { name: 'that share a campaign', priority: 1 },
  { name: 'of which one stands in for the other', priority: 2 },
])('two relays of a project $name, one killed and back again, the worker killed twice', ({ priority }) => {
  let run: CampaignRun;
  let first: ChaoticRelay;
  let second: ChaoticRelay;
  let campaign: CampaignOnItsWay;
  let deliveries: ShownDelivery[];
  let failure: { readonly lastError: string | null };
  /** Relays that take mail while both can. */
  let sharing: readonly ChaoticRelay[];
  /** Places on the wires when something died: nothing else may be repeated. */
  let mostInDoubt: number;

  beforeAll(async () => {
    run = await CampaignRun.open(2, { OUTGOING_PRIVATE_ADDRESSES: 'true' });
    campaign = await run.send('NEWS', RECIPIENTS, undefined, async (client) => {
      first = await ChaoticRelay.create(client, 'First', CONNECTIONS, 1);
      second = await ChaoticRelay.create(client, 'Second', CONNECTIONS, priority);
    });
    sharing = priority === 1 ? [first, second] : [first];
    mostInDoubt = LOST_REPLIES + (1 + 1 + sharing.length) * CONNECTIONS;
    await killTheFirst();
    await killTheWorkerMeanwhile();
    await killTheWorkerThatHasBoth();
    await campaign.isSent();
    deliveries = await campaign.deliveries();
  }, DEADLINE_MS * 2);

  afterAll(async () => {
    await run?.close();
    await Promise.all([first?.stop(), second?.stop()]);
  });

  const isTaken = (share: number) =>
    eventually('more is taken', () => first.count() + second.count() >= RECIPIENTS * share, DEADLINE_MS);

  async function killTheFirst(): Promise<void> {
    await isTaken(0.15);
    await first.loseReplies(LOST_REPLIES);
    await first.fill();
    await first.stop();
    failure = await first.is('FAILING');
    await isTaken(0.35);
  }

  /** It comes back to another worker, while the other relay is silent: the campaign cannot end before. */
  async function killTheWorkerMeanwhile(): Promise<void> {
    await second.fill();
    await run.killWorker(0);
    second.takeUnheard();
    await run.replaceWorker(0);
    await first.comeBack();
    await first.is('ACTIVE');
    second.speak();
  }

  async function killTheWorkerThatHasBoth(): Promise<void> {
    await eventually('it takes mail again', () => first.countOfLate() > 0, DEADLINE_MS);
    await isTaken(0.6);
    await Promise.all(sharing.map((relay) => relay.fill()));
    await run.killWorker(0);
    for (const relay of sharing) {
      relay.takeUnheard();
      relay.speak();
    }
    await run.replaceWorker(0);
  }

  const inDoubt = () => [...first.inDoubt, ...second.inDoubt];

  /** Number of times that each mail was taken by both together. */
  function taken(): Map<string, number> {
    const both = new Map(first.handedOver().accepted);
    for (const [address, times] of second.handedOver().accepted)
      both.set(address, (both.get(address) ?? 0) + times);
    return both;
  }

  it('lose nobody', async () => {
    expect(deliveries).toHaveLength(RECIPIENTS);
    expect(taken().size).toBe(RECIPIENTS);
    expect(await campaign.usage()).toEqual({ used: RECIPIENTS, reserved: 0 });
    // The installation's relay has no part in it.
    expect(run.sink.count()).toBe(0);
  });

  it('repeat nothing but what was on a wire when something died, and that once', () => {
    const repeated = [...taken()].filter(([, times]) => times > 1);
    expect(Math.max(...repeated.map(([, times]) => times))).toBe(2);
    expect(repeated.length).toBeLessThanOrEqual(mostInDoubt);
    expect(inDoubt()).toHaveLength(mostInDoubt);
    expect(inDoubt()).toEqual(expect.arrayContaining(repeated.map(([address]) => address)));
  });

  it('are never both handed the same mail', () => {
    const { seen } = first.handedOver();
    expect([...second.handedOver().seen].filter((address) => seen.has(address))).toEqual([]);
    expect(Math.min(seen.size, second.handedOver().seen.size)).toBeGreaterThan(0);
  });

  it('are named by each delivery, with the id of the one that took it', () => {
    const takenBy = new Map<string, HandedOver>([
      [first.relayKey, first.handedOver()],
      [second.relayKey, second.handedOver()],
    ]);
    const misnamed = deliveries.filter(
      ({ email, relayKey }) => relayKey === null || takenBy.get(relayKey)?.accepted.has(email) !== true,
    );
    expect(misnamed).toEqual([]);
    const sent = deliveries.filter(({ status }) => status === 'SENT');
    expect(sent.filter(({ providerMessageId }) => !/^\d+$/.test(providerMessageId ?? ''))).toEqual([]);
  });

  it('leave in the dark only what was in doubt before', () => {
    const others = deliveries.filter(({ status }) => status !== 'SENT');
    expect(others.filter(({ status }) => status !== 'AMBIGUOUS')).toEqual([]);
    expect(inDoubt()).toEqual(expect.arrayContaining(others.map(({ email }) => email)));
  });

  it('fail and work again, and say so', async () => {
    expect(failure.lastError).toEqual(expect.any(String));
    expect(await first.is('ACTIVE')).toEqual({ lastError: null });
    expect(await second.is('ACTIVE')).toEqual({ lastError: null });
  });
});
