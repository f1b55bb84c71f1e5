import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { CampaignLifecycleService } from '../../campaigns/campaign-lifecycle.service.js';
import { MINUTE } from '../../messaging.fixture.js';
import {
  afterOneChunk,
  CampaignLifecycle,
  CONNECTIONS,
  READERS,
  states,
} from './campaign-lifecycle.fixture.js';
import { CampaignExpansionService } from './campaign-expansion.service.js';

describe('a campaign under way', () => {
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

  const control = () => fixture.get(CampaignLifecycleService);
  const planned = (tier: string) =>
    fixture.test.query('update billing.subscriptions set plan_tier = $2 where tenant_id = $1', [
      scope.tenantId,
      tier,
    ]);

  describe('that is paused', () => {
    it('sends at most what is on its connections, and when it goes on loses none and repeats none', async () => {
      const campaign = await fixture.queuedCampaign(scope, READERS);
      fixture.engine.start();
      await eventually('a third is sent', () => sink.count() >= READERS * 0.3);
      expect((await control().pause(scope, campaign.campaignKey)).status).toBe('PAUSED');
      const atThePause = sink.count();
      await fixture.settled('nothing is on a wire or claimed', ({ lease_token }) => lease_token === null);
      expect(sink.count() - atThePause).toBeLessThanOrEqual(CONNECTIONS);
      fixture.later(MINUTE);
      expect(states(await fixture.deliveries())).toEqual({
        SENT: sink.count(),
        PENDING: READERS - sink.count(),
      });
      await control().resume(scope, campaign.campaignKey);
      await lifecycle.isSent(campaign.id);
      expect(lifecycle.mailedOnce()).toHaveLength(READERS);
      expect(await fixture.usage(scope)).toEqual({ used: READERS, reserved: 0 });
    });

    it('sends no mail whose envelope the relay has, and marks it no sooner', async () => {
      const answers: (() => void)[] = [];
      const hold = sink.behave({ at: 'body', action: { hold: (answer) => answers.push(answer) } });
      const campaign = await fixture.queuedCampaign(scope, 10);
      fixture.engine.start();
      await eventually('each connection carries a mail', () => answers.length === CONNECTIONS);
      expect(states(await fixture.deliveries())).toEqual({ SENDING: CONNECTIONS, CLAIMED: 10 - CONNECTIONS });
      await control().pause(scope, campaign.campaignKey);
      hold();
      for (const answer of answers) answer();
      await fixture.settled('nothing is on a wire or claimed', ({ lease_token }) => lease_token === null);
      expect(states(await fixture.deliveries())).toEqual({ SENT: CONNECTIONS, PENDING: 10 - CONNECTIONS });
      expect(sink.commands.filter((line) => line === 'DATA')).toHaveLength(2 * CONNECTIONS);
      expect(sink.count()).toBe(CONNECTIONS);
      await control().resume(scope, campaign.campaignKey);
      fixture.engine.wake();
      await lifecycle.isSent(campaign.id);
      expect(lifecycle.mailedOnce()).toHaveLength(10);
    });

    it('has everybody written down meanwhile', async () => {
      const { campaignKey } = await fixture.draft(scope, 5_100);
      await planned('PRO');
      const queued = await fixture.get(CampaignLifecycleService).send(scope, campaignKey);
      await fixture.get(CampaignExpansionService).expand(scope, queued.id, afterOneChunk());
      await control().pause(scope, campaignKey);
      await lifecycle.expand(queued.id);
      expect(await fixture.campaign(queued.id)).toMatchObject({ status: 'PAUSED', expanded: true });
      expect(await fixture.deliveries()).toHaveLength(5_100);
    });
  });

  describe('that is over', () => {
    const archive = (campaignKey: string) =>
      fixture.get(CampaignLifecycleService).archive(scope, campaignKey);

    it('is put away by the operator when its deliveries have ended, and not before or twice', async () => {
      const { id, campaignKey } = await fixture.queuedCampaign(scope, 2);
      const refusal = {
        code: 'invalid-state',
        currentState: 'SENDING',
        allowedStates: ['SENT', 'CANCELLED', 'FAILED'],
      };
      await expect(archive(campaignKey)).rejects.toMatchObject(refusal);
      await control().cancel(scope, campaignKey);
      await expect(archive(campaignKey)).rejects.toMatchObject({ code: 'unavailable' });
      await lifecycle.closing(id);
      await archive(campaignKey);
      expect((await fixture.campaign(id)).status).toBe('ARCHIVED');
      await expect(archive(campaignKey)).rejects.toMatchObject({ currentState: 'ARCHIVED' });
      await expect(control().resume(scope, campaignKey)).rejects.toMatchObject({ currentState: 'ARCHIVED' });
    });

    it('is found in its own environment alone', async () => {
      await expect(archive('APIT-999')).rejects.toMatchObject({ code: 'not-found' });
    });
  });

  describe('that is cancelled', () => {
    it('mails nobody any more but who is on a wire, and gives the other e-mails back', async () => {
      sink.behave({ at: 'body', action: { delayMs: 20 } });
      const campaign = await fixture.queuedCampaign(scope, 60);
      fixture.engine.start();
      await eventually('some are sent', () => sink.count() >= 5);
      const cancelled = await control().cancel(scope, campaign.campaignKey);
      expect(cancelled).toMatchObject({ status: 'CANCELLED', completedAt: null });
      const atTheCancel = sink.count();
      await eventually('all is ended', async () => (await lifecycle.closing(campaign.id)).kind === 'done');
      const sent = sink.count();
      expect(sent - atTheCancel).toBeLessThanOrEqual(CONNECTIONS);
      const rows = await fixture.deliveries();
      expect(states(rows)).toEqual({ SENT: sent, CANCELLED: 60 - sent });
      expect(new Set(rows.map(({ reason }) => reason))).toEqual(new Set([null, 'campaign-cancelled']));
      expect(await fixture.usage(scope)).toEqual({ used: sent, reserved: 0 });
      expect(await fixture.campaign(campaign.id)).toMatchObject({ closing: false, completed_at: null });
    });

    it('while its recipients are written down gives back what no delivery is bound to', async () => {
      await planned('PRO');
      const { campaignKey } = await fixture.draft(scope, 1_100);
      const queued = await fixture.get(CampaignLifecycleService).send(scope, campaignKey);
      await fixture.get(CampaignExpansionService).expand(scope, queued.id, afterOneChunk());
      await control().cancel(scope, campaignKey);
      expect(await fixture.usage(scope)).toEqual({ used: 0, reserved: 1_000 });
      await lifecycle.expand(queued.id);
      expect(await fixture.deliveries()).toHaveLength(1_000);
      expect((await lifecycle.closing(queued.id)).kind).toBe('done');
      expect(states(await fixture.deliveries())).toEqual({ CANCELLED: 1_000 });
      expect(await fixture.usage(scope)).toEqual({ used: 0, reserved: 0 });
    });

    it('before anybody is written down gives everything back', async () => {
      const { campaignKey } = await fixture.draft(scope, 3);
      const queued = await fixture.get(CampaignLifecycleService).send(scope, campaignKey);
      await control().cancel(scope, campaignKey);
      expect(await fixture.usage(scope)).toEqual({ used: 0, reserved: 0 });
      await lifecycle.expand(queued.id);
      expect((await lifecycle.closing(queued.id)).kind).toBe('done');
      expect(await fixture.deliveries()).toEqual([]);
    });

    it('waits for the lease of a sender that died, and counts what it had on its wires as used', async () => {
      const campaign = await fixture.queuedCampaign(scope, 3);
      await fixture.test.query(
        `update messaging.deliveries set lease_token = gen_random_uuid(), lease_until = $1,
           state = case when address like 'reader-1@%' then 'SENDING' else 'CLAIMED' end`,
        [new Date(fixture.clock.now().getTime() + MINUTE)],
      );
      await control().cancel(scope, campaign.campaignKey);
      expect((await lifecycle.closing(campaign.id)).kind).toBe('snooze');
      expect(states(await fixture.deliveries())).toEqual({ SENDING: 1, CANCELLED: 2 });
      fixture.clock.advance(MINUTE);
      expect((await lifecycle.closing(campaign.id)).kind).toBe('done');
      expect(states(await fixture.deliveries())).toEqual({ AMBIGUOUS: 1, CANCELLED: 2 });
      expect(await fixture.usage(scope)).toEqual({ used: 1, reserved: 0 });
    });
  });
});
