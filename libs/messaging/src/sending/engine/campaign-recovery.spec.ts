import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { newId } from '#kernel';
import { consentProof, UnsubscribeService } from '#audience';
import { CampaignLifecycleService } from '../../campaigns/campaign-lifecycle.service.js';
import { type DeliveryRow, MINUTE } from '../../messaging.fixture.js';
import { CampaignLifecycle, never, READERS, states } from './campaign-lifecycle.fixture.js';
import { FailedDeliveriesService } from '../../campaigns/failed-deliveries.service.js';
import { type CampaignUnderWay, DeliveryClaimsQuery } from './delivery-claims.query.js';
import { DeliveryStoreRepository } from './delivery-store.repository.js';

describe('a campaign that not all goes well with', () => {
  let lifecycle: CampaignLifecycle;
  let sink: CampaignLifecycle['sink'];
  let fixture: CampaignLifecycle['fixture'];
  let scope: CampaignLifecycle['scope'];

  beforeAll(async () => {
    lifecycle = await CampaignLifecycle.open();
    ({ fixture } = lifecycle);
  });
  beforeEach(async () => {
    await lifecycle.begin();
    ({ sink, scope } = lifecycle);
  });
  afterEach(() => lifecycle.end());
  afterAll(() => fixture.close());

  describe('that cannot go on', () => {
    it('fails, says why, and is sent again only to those whom it did not reach', async () => {
      sink.behave({ at: 'body', action: { delayMs: 20 } });
      const campaign = await fixture.queuedCampaign(scope, 30);
      fixture.engine.start();
      await eventually('some are sent', () => sink.count() >= 5);
      await fixture.get(CampaignLifecycleService).fail(scope, campaign.id, 'The sky fell.');
      await eventually('all is ended', async () => (await lifecycle.closing(campaign.id)).kind === 'done');
      const reached = sink.count();
      expect(await fixture.usage(scope)).toEqual({ used: reached, reserved: 0 });
      expect(await fixture.campaign(campaign.id)).toMatchObject({
        status: 'FAILED',
        failure_reason: 'The sky fell.',
      });
      fixture.clock.advance(24 * 60 * MINUTE);
      await fixture.get(CampaignLifecycleService).send(scope, campaign.campaignKey);
      await lifecycle.expand(campaign.id);
      fixture.engine.wake();
      await lifecycle.isSent(campaign.id);
      expect(lifecycle.mailedOnce()).toHaveLength(30);
      expect(await fixture.usage(scope)).toEqual({ used: 30, reserved: 0 });
      expect((await fixture.campaign(campaign.id)).failure_reason).toBeNull();
    });

    it('is sent again by new claims alone: those of the failed sending mark nothing and free nothing', async () => {
      const campaign = await fixture.queuedCampaign(scope, 3);
      const [claims, store] = [fixture.get(DeliveryClaimsQuery), fixture.get(DeliveryStoreRepository)];
      const claim = async (under: CampaignUnderWay | undefined) => {
        if (under === undefined) throw new Error('No campaign is under way.');
        return claims.claimCampaign(under, 10, newId());
      };
      const [before] = await claims.campaignsUnderWay({ environment: 'LIVE', scope: null });
      const stale = await claim(before);
      expect(stale).toHaveLength(3);
      await fixture.get(CampaignLifecycleService).fail(scope, campaign.id, 'The sky fell.');
      expect((await lifecycle.closing(campaign.id)).kind).toBe('done');
      fixture.clock.advance(40 * 24 * 60 * MINUTE);
      await fixture.get(CampaignLifecycleService).send(scope, campaign.campaignKey);
      await lifecycle.expand(campaign.id);
      expect(await claim(before)).toEqual([]);
      const fresh = await claim((await claims.campaignsUnderWay({ environment: 'LIVE', scope: null }))[0]);
      expect(fresh.map(({ id }) => id).sort()).toEqual(stale.map(({ id }) => id).sort());

      const start = async (starting: typeof fresh) => {
        const entry = { outcomes: [], starting, usagePeriod: null, flushed: true };
        return (await store.write(scope, entry, fixture.clock.now())).marked;
      };
      expect([...(await start(stale))]).toEqual([]);
      await store.release(scope, stale);
      expect(states(await fixture.deliveries())).toEqual({ CLAIMED: 3 });
      expect((await start(fresh)).size).toBe(3);
    });
  });

  describe('whose mails some servers did not take', () => {
    it('tries those again that failed for a while, not those that never will', async () => {
      sink.behave({ at: 'rcpt', action: { reply: '550 5.1.1 No such user' }, when: toReader(1) });
      const heal = sink.behave({ at: 'rcpt', action: { reply: '452 4.2.2 Over quota' }, when: toReader(2) });
      sink.behave({ at: 'rcpt', action: { reply: '552 5.3.4 Too large' }, when: toReader(3) });
      const campaign = await fixture.queuedCampaign(scope, 5);
      fixture.engine.start();
      await givenUp(campaign.id);
      const { completed_at: completedAt } = await fixture.campaign(campaign.id);
      expect(states(await fixture.deliveries())).toEqual({ SENT: 2, FAILED: 3 });
      heal();
      fixture.clock.advance(MINUTE);
      const retried = await fixture.get(CampaignLifecycleService).retryFailed(scope, campaign.campaignKey);
      expect(retried).toMatchObject({ status: 'SENDING', completedAt: null });
      expect(await fixture.usage(scope)).toEqual({ used: 2, reserved: 1 });
      fixture.engine.wake();
      await fixture
        .get(FailedDeliveriesService)
        .putBack(scope, { campaignId: campaign.id }, { signal: never });
      await lifecycle.isSent(campaign.id);
      expect(states(await fixture.deliveries())).toEqual({ SENT: 3, FAILED: 2 });
      expect(lifecycle.mailedOnce()).toHaveLength(3);
      expect(await fixture.usage(scope)).toEqual({ used: 3, reserved: 0 });
      const after = await fixture.campaign(campaign.id);
      expect(after.completed_at?.getTime()).toBeGreaterThan(completedAt?.getTime() ?? Infinity);
      const again = await fixture.get(CampaignLifecycleService).retryFailed(scope, campaign.campaignKey);
      expect(again).toMatchObject({ status: 'SENT', completedAt: after.completed_at });
    });

    /** Moves the time on, whenever nothing is on a wire or about to be, until the campaign has ended. */
    const givenUp = (id: string) =>
      eventually('what is deferred is given up', async () => {
        const [rows, now] = [await fixture.deliveries(), fixture.clock.now()];
        const isResting = ({ lease_token, state, next_attempt_at }: DeliveryRow) =>
          lease_token === null && ((state !== 'PENDING' && state !== 'DEFERRED') || next_attempt_at > now);
        if (rows.every(isResting)) fixture.later(60 * MINUTE);
        return (await fixture.campaign(id)).status === 'SENT';
      });

    const toReader = (number: number) => (transaction: { readonly to: readonly string[] }) =>
      transaction.to.some((address) => address.startsWith(`reader-${number}@`));
  });

  describe('while people leave', () => {
    it('puts nobody’s mail on a wire after they have left', async () => {
      const campaign = await fixture.queuedCampaign(scope, READERS);
      const readers = await fixture.test.query<{ id: string; email: string }>(
        'select id, email from audience.subscribers where environment_id = $1 order by email desc limit $2',
        [scope.environmentId, Math.floor(READERS / 2)],
      );
      // A part of them leave while others' mail is sent, the rest before their own can be.
      const held: (() => void)[] = [];
      const isHeld = () => sink.count() >= READERS / 3;
      sink.behave({ at: 'body', action: { hold: (answer) => held.push(answer) }, when: isHeld, times: 2 });
      fixture.engine.start();
      await eventually('it is being sent', () => sink.count() > 0);
      const leftBeforeMark: string[] = [];
      for (const { id } of readers) {
        await leave(id, campaign.topicIds);
        leftBeforeMark.push(...(await unmarked(id)));
      }
      await eventually('both connections wait', () => held.length === 2);
      held.forEach((answer) => answer());
      await lifecycle.isSent(campaign.id);
      expect(leftBeforeMark.length).toBeGreaterThan(0);
      const rows = await fixture.deliveries();
      const theirs = rows.filter(({ id }) => leftBeforeMark.includes(id));
      expect(states(theirs)).toEqual({ SKIPPED: leftBeforeMark.length });
      expect(sink.count() + (states(rows)['SKIPPED'] ?? 0)).toBe(READERS);
      expect((await fixture.usage(scope)).reserved).toBe(0);
    });

    const leave = (subscriberId: string, topicIds: readonly string[]) =>
      fixture
        .get(UnsubscribeService)
        .leaveTopics(scope, subscriberId, topicIds, consentProof('SUBSCRIBER_PAGE', newId()));

    /** Theirs that no sender has marked, when every transaction that began before now has ended. */
    const unmarked = async (subscriberId: string) => {
      const [now] = await fixture.test.query<{ at: Date }>('select clock_timestamp() as at');
      await eventually('what had begun has ended', async () => {
        const older = await fixture.test.query(
          `select 1 from pg_stat_activity where datname = current_database() and xact_start < $1`,
          [now?.at],
        );
        return older.length === 0;
      });
      const rows = await fixture.test.query<{ id: string }>(
        `select id from messaging.deliveries where subscriber_id = $1 and state in ('PENDING', 'CLAIMED')`,
        [subscriberId],
      );
      return rows.map(({ id }) => id);
    };
  });
});
