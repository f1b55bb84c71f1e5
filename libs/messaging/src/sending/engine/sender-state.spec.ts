import { describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import type { ClaimedDelivery, OutgoingMail } from '../../deliveries/delivery.js';
import type { DeliveryOutcome } from '../delivery-outcome.js';
import type { DecidedWork, DeliveryWork, ReadyWork } from '../delivery-work.js';
import type { DeliveryRoute } from '../delivery.route.js';
import { groupByScope, SenderState, statementsOf, UnflushedOutcomes } from './sender-state.js';

const [news, shop] = [1, 2].map((environmentId): ProjectScope => ({
  tenantId: 1,
  projectId: 1,
  environmentId,
  environment: 'LIVE',
})) as [ProjectScope, ProjectScope];

/** Two at once; as many again are wanted at hand. */
function twoAtOnce(): DeliveryRoute & { readonly started: string[] } {
  const started: string[] = [];
  return {
    started,
    capacity: 2,
    isPaused: false,
    changes: 0,
    toClaim: (ready, onWire) => 4 - ready.length - onWire.length,
    assign: (going, atHand) => ({ going: going.slice(0, 4 - atHand.length), decided: [] }),
    startable: (ready, onWire) => ready.slice(0, 2 - onWire),
    starting: (works) => void started.push(...works.map(({ delivery }) => delivery.id)),
    isRecalled: () => false,
    deliver: () => Promise.reject(new Error('Nothing is sent here.')),
  };
}

function claimed(id: string, more: Partial<DeliveryWork> & { readonly epoch?: number } = {}): DeliveryWork {
  const { epoch = null, ...work } = more;
  const delivery = { id, queuedOn: '2026-11-26', leaseEpoch: epoch } as ClaimedDelivery;
  return { scope: news, delivery, ambiguousPolicy: 'RESEND', usagePeriod: null, ...work };
}

const ready = (id: string, more: Parameters<typeof claimed>[1] = {}): ReadyWork => ({
  ...claimed(id, more),
  mail: { deliveryId: id } as OutgoingMail,
});

const sent = { state: 'SENT' } as DeliveryOutcome;
const decided = (id: string, more: Parameters<typeof claimed>[1] = {}): DecidedWork => ({
  ...claimed(id, more),
  outcome: sent,
});

const idsOf = (works: readonly DeliveryWork[]) => works.map(({ delivery }) => delivery.id);

describe('the state of a sender', () => {
  it('starts as many mails as the route has places for, and the next when one has ended', () => {
    const route = twoAtOnce();
    const state = new SenderState(route);
    const mails = ['a', 'b', 'c'].map((id) => ready(id));
    expect(state.hasBatch).toBe(false);
    state.add(mails, 0);
    expect(state.hasBatch).toBe(true);
    const first = state.takeBatch();
    expect([idsOf(first.ended), idsOf(first.mails)]).toEqual([[], ['a', 'b']]);
    for (const mail of first.mails) state.start(mail);
    expect([state.onWire, state.isBusy, state.hasBatch]).toEqual([2, true, false]);
    state.end(mails[0]!, sent, undefined);
    const second = state.takeBatch();
    expect([idsOf(second.ended), idsOf(second.mails)]).toEqual([['a'], ['c']]);
    expect(second.ended[0]).not.toHaveProperty('mail');
    expect(route.started).toEqual(['a', 'b', 'c']);
  });

  it('writes what was decided without a mail', () => {
    const state = new SenderState(twoAtOnce());
    state.add([decided('a'), ready('b')], 0);
    expect(idsOf(state.held)).toEqual(['b', 'a']);
    const { ended, mails } = state.takeBatch();
    expect([idsOf(ended), idsOf(mails), state.held]).toEqual([['a'], ['b'], []]);
  });

  it('keeps a batch that failed for the next one, but for what went on the wire with a part of it', () => {
    const state = new SenderState(twoAtOnce());
    state.add([decided('a'), ready('b'), ready('c')], 0);
    const batch = state.takeBatch();
    state.start(batch.mails[0]!);
    state.batchFailed(batch);
    expect(idsOf(state.held)).toEqual(['c', 'a', 'b']);
    const again = state.takeBatch();
    expect([idsOf(again.ended), idsOf(again.mails)]).toEqual([['a'], ['c']]);
  });

  it('starts nothing and claims nothing once it is to stop, and writes what ended', () => {
    const state = new SenderState(twoAtOnce());
    state.add([decided('a'), ready('b')], 0);
    expect(state.isStopping).toBe(false);
    state.stop();
    expect([state.isStopping, state.beginClaim()]).toEqual([true, 0]);
    expect(idsOf(state.takeReady())).toEqual(['b']);
    expect(idsOf(state.takeBatch().ended)).toEqual(['a']);
    state.add([ready('c')], 0);
    expect([state.hasBatch, state.takeBatch().mails]).toEqual([false, []]);
  });

  describe('that claims', () => {
    it('asks for what the route wants beside what is at hand, one claim at a time', () => {
      const state = new SenderState(twoAtOnce());
      state.add([ready('a')], 0);
      expect([state.beginClaim(), state.isBusy, state.beginClaim()]).toEqual([3, true, 0]);
      state.endClaim('found');
      expect([state.isBusy, state.beginClaim()]).toEqual([false, 3]);
      expect(idsOf(state.assign(['b', 'c', 'd', 'e'].map((id) => claimed(id))).going)).toEqual([
        'b',
        'c',
        'd',
      ]);
    });

    it('is not busy when there is enough at hand', () => {
      const state = new SenderState(twoAtOnce());
      state.add(
        ['a', 'b', 'c', 'd'].map((id) => ready(id)),
        0,
      );
      expect([state.beginClaim(), state.isBusy]).toEqual([0, false]);
    });

    it.each(['nothing', 'failed'] as const)(
      'asks no more after a claim that ended with %s, until it is woken',
      (result) => {
        const state = new SenderState(twoAtOnce());
        expect(state.beginClaim()).toBe(4);
        state.endClaim(result);
        expect(state.beginClaim()).toBe(0);
        state.lookAgain();
        expect(state.beginClaim()).toBe(4);
      },
    );

    it('asks again when its last mail has ended, since a campaign may be over', () => {
      const state = new SenderState(twoAtOnce());
      state.add([ready('a')], 0);
      state.beginClaim();
      state.endClaim('nothing');
      const { mails } = state.takeBatch();
      state.start(mails[0]!);
      state.batchWritten();
      expect(state.beginClaim()).toBe(0);
      state.end(mails[0]!, sent, undefined);
      state.takeBatch();
      state.batchWritten();
      expect(state.beginClaim()).toBe(4);
    });

    it('asks again also when the claim that found nothing began before the last mail had ended', () => {
      const state = new SenderState(twoAtOnce());
      state.add([ready('a')], 0);
      const { mails } = state.takeBatch();
      state.start(mails[0]!);
      expect(state.beginClaim()).toBe(3);
      state.end(mails[0]!, sent, undefined);
      state.takeBatch();
      state.batchWritten();
      state.endClaim('nothing');
      expect(state.beginClaim()).toBe(4);
      state.endClaim('nothing');
      expect(state.beginClaim()).toBe(0);
    });

    it('does not ask a failing database at once again', () => {
      const state = new SenderState(twoAtOnce());
      state.beginClaim();
      state.lookAgain();
      state.endClaim('failed');
      expect(state.beginClaim()).toBe(0);
    });
  });

  describe('whose route or pace changes', () => {
    const isB = ({ delivery }: ReadyWork) => delivery.id === 'b';

    it('gives back the mails that are recalled, and looks once for a change', () => {
      const state = new SenderState(twoAtOnce());
      state.add([ready('a'), ready('b')], 0);
      expect(state.takeRecalled(0, isB)).toEqual([]);
      expect(idsOf(state.takeRecalled(1, isB))).toEqual(['b']);
      state.add([ready('b')], 1);
      expect(state.takeRecalled(1, isB)).toEqual([]);
    });

    it('looks at mails that were made while it changed', () => {
      const state = new SenderState(twoAtOnce());
      expect(state.takeRecalled(1, isB)).toEqual([]);
      state.add([ready('a'), ready('b')], 0);
      expect(idsOf(state.takeRecalled(1, isB))).toEqual(['b']);
      expect(idsOf(state.held)).toEqual(['a']);
    });
  });

  describe('that offers a connection to the next mail', () => {
    it('starts that mail first, when the one before has ended, and not sooner', () => {
      const state = new SenderState(twoAtOnce());
      const mails = ['a', 'b', 'c', 'd'].map((id) => ready(id));
      state.add(mails.slice(0, 2), 0);
      for (const mail of state.takeBatch().mails) state.start(mail);
      state.add(mails.slice(2), 0);
      expect(state.offer(mails[0]!)).toBe(mails[2]);
      state.end(mails[1]!, sent, undefined);
      expect(idsOf(state.takeBatch().mails)).toEqual(['d']);
      state.end(mails[0]!, sent, mails[2]);
      expect(idsOf(state.takeBatch().mails)).toEqual(['c']);
    });

    it('offers each mail once, and only over its own relay', () => {
      const state = new SenderState(twoAtOnce());
      const relay = { relayKey: 'REL1' } as NonNullable<DeliveryWork['relay']>;
      const [own, other] = [ready('a'), ready('b', { relay })];
      state.add([own, other], 0);
      expect(state.offer(ready('c', { relay }))).toBe(other);
      expect(state.offer(ready('d', { relay }))).toBeUndefined();
      expect(idsOf(state.held)).toEqual(['b', 'a']);
    });
  });

  describe('whose outcomes are not waited for', () => {
    it('writes them again after a crash of the server', () => {
      const state = new SenderState(twoAtOnce());
      expect(state.written(news, 1, [decided('a'), decided('b')], 10)).toBe(0);
      expect(state.unflushedScopes).toEqual([news]);
      expect(state.written(news, 2, [], 20)).toBe(2);
      expect(idsOf(state.takeBatch().ended)).toEqual(['a', 'b']);
      expect(state.unflushedScopes).toEqual([]);
    });

    it('forgets them with a claim that began later, and three seconds after', () => {
      const state = new SenderState(twoAtOnce());
      state.written(news, 1, [decided('a')], 10);
      state.claimed(claimed('b'), 20);
      state.claimed(claimed('b', { epoch: 1 }), 10);
      expect(state.unflushedScopes).toEqual([news]);
      state.claimed(claimed('b', { epoch: 1 }), 11);
      expect(state.unflushedScopes).toEqual([]);
      state.written(news, 1, [decided('c')], 20);
      state.flushedLongAgo(news, 1, 3_020);
      expect(state.unflushedScopes).toEqual([news]);
      state.flushedLongAgo(news, 1, 3_021);
      expect(state.unflushedScopes).toEqual([]);
    });
  });
});

describe('the statements of a batch', () => {
  it('are one for outcomes and marks of one environment and partition', () => {
    const statements = statementsOf({ ended: [decided('a')], mails: [ready('b')] });
    expect(statements.map(idsOf)).toEqual([['a', 'b']]);
  });

  it('write all outcomes before any mark where there are several', () => {
    const statements = statementsOf({
      ended: [decided('a'), decided('b', { scope: shop })],
      mails: [ready('c', { scope: shop }), ready('d')],
    });
    expect(statements.map(idsOf)).toEqual([['a'], ['b'], ['c'], ['d']]);
  });

  it('are apart for periods, partitions, policies, and for what is waited for', () => {
    const { delivery } = claimed('e');
    const works = [
      claimed('a'),
      claimed('b', { usagePeriod: new Date(0) }),
      claimed('c', { ambiguousPolicy: 'HOLD' }),
      claimed('d', { epoch: 1 }),
      claimed('e', { delivery: { ...delivery, queuedOn: '2026-11-27' } }),
      claimed('f'),
    ];
    expect(groupByScope(works).map(idsOf)).toEqual([['a', 'f'], ['b'], ['c'], ['d'], ['e']]);
  });
});

describe('outcomes that were not waited for', () => {
  it('come back when the server has crashed since, each once', () => {
    const outcomes = new UnflushedOutcomes<string>();
    expect(outcomes.written(news, 1, ['a', 'b'], 10)).toEqual([]);
    expect(outcomes.written(news, 1, ['c'], 20)).toEqual([]);
    expect(outcomes.written(news, 2, ['d'], 30)).toEqual(['a', 'b', 'c']);
    expect(outcomes.written(news, 2, [], 40)).toEqual([]);
    expect(outcomes.written(news, 3, [], 50)).toEqual(['d']);
  });

  it('come back for the environment alone whose server has crashed', () => {
    const outcomes = new UnflushedOutcomes<string>();
    outcomes.written(news, 1, ['a'], 10);
    outcomes.written(shop, 5, ['b'], 10);
    expect(outcomes.scopes).toEqual([news, shop]);
    expect(outcomes.written(news, 2, [], 20)).toEqual(['a']);
    expect(outcomes.scopes).toEqual([shop]);
    expect(outcomes.written(shop, 6, [], 20)).toEqual(['b']);
  });

  it('are forgotten once they are safe, and not by what was written before them or in another epoch', () => {
    const outcomes = new UnflushedOutcomes<string>();
    outcomes.written(news, 1, ['a'], 10);
    outcomes.written(news, 1, ['b'], 20);
    outcomes.flushed(news, 2, 100);
    outcomes.flushed(shop, 1, 100);
    outcomes.flushed(news, 1, 20);
    expect(outcomes.written(news, 2, [], 30)).toEqual(['b']);
    outcomes.written(news, 2, ['c'], 40);
    outcomes.flushed(news, 2, 50);
    expect(outcomes.scopes).toEqual([]);
  });
});
