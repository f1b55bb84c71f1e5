import { createHmac } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SECRETS } from '#testing/programs/system';
import { eventually } from '#testing/time/eventually';
import { DomainValidationError, InvalidStateError } from '#kernel';
import type { Campaign, CampaignDraft } from '../../campaigns/campaign.js';
import { CampaignLifecycleService } from '../../campaigns/campaign-lifecycle.service.js';
import { CampaignRepository } from '../../campaigns/campaign.repository.js';
import { type CampaignVariant, winnerOf } from '../../campaigns/campaign-variants.js';
import { VariantTestsService } from '../../campaigns/variant-tests.service.js';
import { TrackedEventsService } from '../../engagement/tracked-events.service.js';
import { type DeliveryRow, MINUTE } from '../../messaging.fixture.js';
import { CampaignExpansionService } from './campaign-expansion.service.js';
import { afterOneChunk, CampaignLifecycle, never, READERS, states } from './campaign-lifecycle.fixture.js';

const HOUR = 60 * MINUTE;

type Row = DeliveryRow & {
  readonly variant: number | null;
  readonly subscriber_id: string;
  readonly queued_on: Date;
};

const variant = (name: string, parts: Partial<CampaignVariant> = {}): CampaignVariant => ({
  name,
  subject: `Subject ${name}`,
  previewText: null,
  fromName: null,
  contentJson: null,
  contentText: null,
  translations: {},
  ...parts,
});

const TEST = { sharePercent: 40, decideAfter: 'PT2H', by: 'CLICKS', ifUndecided: 'LEADER' } as const;
const TESTED: Partial<CampaignDraft> = {
  contentText: 'Read https://example.com/news',
  variants: [variant('A'), variant('B')],
  test: TEST,
};

describe('a campaign with variants', () => {
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
  const tests = () => fixture.get(VariantTestsService);
  const found = async ({ id }: Pick<Campaign, 'id'>) =>
    (await fixture.get(CampaignRepository).find(scope, id))!;
  const rows = async () => (await fixture.deliveries()) as Row[];
  const inTest = (all: readonly Row[]) => all.filter(({ variant: number }) => number !== null);
  const waiting = (all: readonly Row[]) => all.filter(({ next_attempt_at: at }) => Number(at) === Infinity);
  const decideWhenDue = ({ id }: Pick<Campaign, 'id'>) => tests().decideWhenDue(scope, { campaignId: id });
  const release = ({ id }: Pick<Campaign, 'id'>, signal = never) =>
    tests().release(scope, { campaignId: id }, { signal });

  /** The subject of each address's mails. */
  const received = () =>
    new Map(
      sink.messages.map(({ to, raw }) => [
        to[0]!,
        /^Subject: (.*)$/m.exec(raw.toString())?.[1]?.trim() ?? '',
      ]),
    );

  const testIsSent = () =>
    eventually('all of the test are sent', async () => {
      const all = await rows();
      return all.length > 0 &&
        all.every((row) => row.state === 'SENT' || Number(row.next_attempt_at) === Infinity)
        ? all
        : null;
    });

  /** Readers of a variant click, so many of them. */
  async function click(
    campaign: Campaign,
    all: readonly Row[],
    number: number,
    readers: number,
  ): Promise<void> {
    const linkSet = await fixture.linkSetOf(campaign.id);
    const [day] = await fixture.test.query<{ day: string }>(
      'select min(queued_on)::text as day from messaging.deliveries',
    );
    const of = all.filter((row) => row.variant === number).slice(0, readers);
    expect(of).toHaveLength(readers);
    await fixture.get(TrackedEventsService).write(
      of.map(({ id }) => ({
        environmentId: scope.environmentId,
        campaignId: campaign.id,
        queuedOn: day!.day,
        deliveryId: id,
        linkSet,
        type: 'CLICKED',
        linkNumber: 1,
        at: new Date(fixture.clock.now().getTime() + MINUTE),
        known: 'human',
        agent: 'other',
      })),
    );
  }

  /** The variant by the rule of the documentation. */
  function assigned({ id, test, variants }: Campaign, subscriberId: string): number | null {
    const octets = (uuid: string) => Buffer.from(uuid.replaceAll('-', ''), 'hex');
    const purpose = createHmac('sha256', SECRETS.TOKEN_SECRET).update('mailwright.variants.v1').digest();
    const key = createHmac('sha256', purpose).update(id).digest();
    const hash = createHmac('sha256', key).update(octets(subscriberId)).digest();
    if (hash.readUIntBE(0, 3) / 2 ** 24 >= test!.sharePercent / 100) return null;
    return 1 + Math.floor((hash.readUIntBE(3, 3) / 2 ** 24) * variants.length);
  }

  describe('gives each person of its test one of them', () => {
    it.each([
      [100, 2],
      [40, 3],
      [5, 5],
    ])('in a share of %i percent among %i, as a keyed hash has it', async (sharePercent, count) => {
      const variants = Array.from({ length: count }, (_, index) => variant(String(index + 1)));
      const draft = { ...TESTED, variants, test: { ...TEST, sharePercent } };
      const campaign = await fixture.queuedCampaign(scope, 3_000, draft);
      const all = await rows();
      expect(all).toHaveLength(3_000);
      for (const row of all) expect(row.variant).toBe(assigned(campaign, row.subscriber_id));
      expect(waiting(all)).toHaveLength(all.filter((row) => row.variant === null).length);
      for (const number of variants.keys()) {
        const share = sharePercent / 100 / count;
        const of = all.filter((row) => row.variant === number + 1).length;
        const sigma = Math.sqrt(3_000 * share * (1 - share));
        expect(Math.abs(of - 3_000 * share)).toBeLessThan(4 * sigma);
      }
    });

    it('and the same when it is stopped in between and goes on', async () => {
      const draft = await fixture.draft(scope, 1_500, TESTED);
      const campaign = await control().send(scope, draft.campaignKey);
      await fixture.get(CampaignExpansionService).expand(scope, campaign.id, afterOneChunk());
      expect((await rows()).length).toBe(1_000);
      await lifecycle.expand(campaign.id);
      const all = await rows();
      expect(all).toHaveLength(1_500);
      for (const row of all) expect(row.variant).toBe(assigned(campaign, row.subscriber_id));
    });
  });

  it('sends the test, waits, decides by clicks, and sends the rest the winner', async () => {
    const campaign = await fixture.queuedCampaign(scope, READERS, TESTED);
    fixture.engine.start();
    const all = await testIsSent();
    expect(received().size).toBe(inTest(all).length);
    for (const row of inTest(all))
      expect(received().get(row.address)).toBe(`Subject ${row.variant === 1 ? 'A' : 'B'}`);
    expect(await found(campaign)).toMatchObject({
      status: 'SENDING',
      testPhase: 'TESTING',
      winningVariant: null,
    });
    await click(campaign, all, 1, 2);
    await click(campaign, all, 2, 20);
    expect((await decideWhenDue(campaign)).kind).toBe('snooze');
    fixture.later(2 * HOUR);
    expect((await decideWhenDue(campaign)).kind).toBe('done');
    const decided = await found(campaign);
    expect(decided).toMatchObject({ testPhase: 'DECIDED', winningVariant: 2, status: 'SENDING' });
    const { counts } = decided.testResult!;
    expect(counts.map(({ clicked }) => clicked)).toEqual([2, 20]);
    expect(counts.map(({ delivered }) => delivered)).toEqual(
      [1, 2].map((number) => all.filter((row) => row.variant === number).length),
    );
    await click(campaign, all, 1, 40);
    expect((await decideWhenDue(campaign)).kind).toBe('done');
    expect((await found(campaign)).testResult).toEqual(decided.testResult);
    expect(winnerOf(counts, TEST)).toBe(2);
    await release(campaign);
    await lifecycle.isSent(campaign.id);
    expect(lifecycle.mailedOnce()).toHaveLength(READERS);
    for (const row of await rows())
      if (row.variant === null) expect(received().get(row.address)).toBe('Subject B');
    expect(await fixture.usage(scope)).toEqual({ used: READERS, reserved: 0 });
  });

  it('does not begin to count its time before nearly all of the test have left', async () => {
    sink.behave({ at: 'body', action: { reply: '451 4.3.0 Later' }, when: () => sink.count() >= 5 });
    const campaign = await fixture.queuedCampaign(scope, READERS, TESTED);
    fixture.engine.start();
    await eventually('some are sent', () => sink.count() >= 5);
    fixture.clock.advance(3 * HOUR);
    expect(await decideWhenDue(campaign)).toEqual({
      kind: 'snooze',
      until: new Date(fixture.clock.now().getTime() + MINUTE),
    });
    expect((await found(campaign)).testPhase).toBe('TESTING');
  });

  describe('without a sure difference', () => {
    it.each([
      ['LEADER', 2],
      ['FIRST', 1],
    ] as const)('ends as %s says', async (ifUndecided, winner) => {
      const draft = { ...TESTED, test: { ...TEST, ifUndecided } };
      const campaign = await fixture.queuedCampaign(scope, READERS, draft);
      fixture.engine.start();
      const all = await testIsSent();
      await click(campaign, all, 1, 3);
      await click(campaign, all, 2, 4);
      fixture.later(2 * HOUR);
      await decideWhenDue(campaign);
      expect(await found(campaign)).toMatchObject({ testPhase: 'DECIDED', winningVariant: winner });
    });

    it('asks, waits, and takes what is chosen once', async () => {
      const draft = { ...TESTED, test: { ...TEST, ifUndecided: 'ASK' } as const };
      const campaign = await fixture.queuedCampaign(scope, READERS, draft);
      fixture.engine.start();
      await testIsSent();
      fixture.later(2 * HOUR);
      expect((await decideWhenDue(campaign)).kind).toBe('done');
      const asked = await found(campaign);
      expect(asked).toMatchObject({ testPhase: 'TESTING', status: 'SENDING' });
      expect(asked.testUndecidedAt).toEqual(fixture.clock.now());
      await expect(tests().choose(scope, campaign.campaignKey, 3)).rejects.toBeInstanceOf(
        DomainValidationError,
      );
      const chosen = await tests().choose(scope, campaign.campaignKey, 1);
      expect(chosen).toMatchObject({ testPhase: 'DECIDED', winningVariant: 1, testUndecidedAt: null });
      await expect(tests().choose(scope, campaign.campaignKey, 2)).rejects.toBeInstanceOf(InvalidStateError);
      expect((await found(campaign)).winningVariant).toBe(1);
      await release(campaign);
      await lifecycle.isSent(campaign.id);
      expect(lifecycle.mailedOnce()).toHaveLength(READERS);
    });
  });

  it('is decided by one of two workers at once', async () => {
    const campaign = await fixture.queuedCampaign(scope, READERS, TESTED);
    fixture.engine.start();
    await testIsSent();
    fixture.later(2 * HOUR);
    await Promise.all([decideWhenDue(campaign), decideWhenDue(campaign), decideWhenDue(campaign)]);
    const jobs = await fixture.test.query(
      `select 1 from platform.jobs where name = 'campaigns.release_rest' and payload ->> 'campaignId' = $1`,
      [campaign.id],
    );
    expect(jobs).toHaveLength(1);
  });

  it('can be chosen by hand while its audience is still written down', async () => {
    const draft = await fixture.draft(scope, 1_500, { ...TESTED, test: { ...TEST, by: 'MANUAL' } });
    const campaign = await control().send(scope, draft.campaignKey);
    await fixture.get(CampaignExpansionService).expand(scope, campaign.id, afterOneChunk());
    await tests().choose(scope, campaign.campaignKey, 2);
    await release(campaign);
    await lifecycle.expand(campaign.id);
    expect(waiting(await rows())).toEqual([]);
    fixture.engine.start();
    await lifecycle.isSent(campaign.id);
    expect(lifecycle.mailedOnce()).toHaveLength(1_500);
    for (const row of await rows())
      expect(received().get(row.address)).toBe(row.variant === 1 ? 'Subject A' : 'Subject B');
  });

  it('that is paused is decided and released, and sent when it goes on', async () => {
    const campaign = await fixture.queuedCampaign(scope, READERS, TESTED);
    fixture.engine.start();
    const all = await testIsSent();
    await control().pause(scope, campaign.campaignKey);
    fixture.later(2 * HOUR);
    await decideWhenDue(campaign);
    await release(campaign);
    expect(await found(campaign)).toMatchObject({ status: 'PAUSED', testPhase: 'DECIDED' });
    expect(waiting(await rows())).toEqual([]);
    expect(sink.count()).toBe(inTest(all).length);
    await control().resume(scope, campaign.campaignKey);
    await lifecycle.isSent(campaign.id);
    expect(lifecycle.mailedOnce()).toHaveLength(READERS);
  });

  it('that is cancelled ends those who wait, gives their e-mails back, and is decided no more', async () => {
    const campaign = await fixture.queuedCampaign(scope, READERS, TESTED);
    fixture.engine.start();
    const all = await testIsSent();
    await control().cancel(scope, campaign.campaignKey);
    await fixture.closed(scope, campaign.id);
    const sent = inTest(all).length;
    expect(states(await rows())).toEqual({ SENT: sent, CANCELLED: READERS - sent });
    expect(await fixture.usage(scope)).toEqual({ used: sent, reserved: 0 });
    fixture.later(2 * HOUR);
    expect((await decideWhenDue(campaign)).kind).toBe('done');
    await expect(tests().choose(scope, campaign.campaignKey, 1)).rejects.toBeInstanceOf(InvalidStateError);
    expect(await found(campaign)).toMatchObject({ testPhase: 'TESTING', winningVariant: null });
  });

  it('that failed in its test is sent again to those whom it did not reach, each as before', async () => {
    const campaign = await fixture.queuedCampaign(scope, READERS, TESTED);
    fixture.engine.start();
    await eventually('some are sent', () => sink.count() >= 20);
    await control().fail(scope, campaign.id, 'The sky fell.');
    await fixture.closed(scope, campaign.id);
    fixture.clock.advance(MINUTE);
    await fixture.resend(scope, campaign);
    const all = await testIsSent();
    for (const row of all) expect(row.variant).toBe(assigned(campaign, row.subscriber_id));
    fixture.later(2 * HOUR);
    await decideWhenDue(campaign);
    await release(campaign);
    await lifecycle.isSent(campaign.id);
    expect(lifecycle.mailedOnce()).toHaveLength(READERS);
    expect(await fixture.usage(scope)).toEqual({ used: READERS, reserved: 0 });
  });

  it('tests all, where nobody waits, and has a winner when it is SENT', async () => {
    const campaign = await fixture.queuedCampaign(scope, 60, {
      ...TESTED,
      test: { ...TEST, sharePercent: 100 },
    });
    fixture.engine.start();
    await lifecycle.isSent(campaign.id);
    fixture.later(2 * HOUR);
    expect((await decideWhenDue(campaign)).kind).toBe('done');
    await release(campaign);
    expect(await found(campaign)).toMatchObject({ status: 'SENT', testPhase: 'DECIDED' });
    expect(lifecycle.mailedOnce()).toHaveLength(60);
  });

  it('shows readers of a translation what was written for them', async () => {
    const translation = { subject: null, previewText: null, contentJson: null, contentText: null };
    const campaign = await fixture.draft(scope, 40, {
      ...TESTED,
      test: { ...TEST, sharePercent: 100 },
      translations: { de: { ...translation, subject: 'Deutsch', contentText: 'Guten Tag' } },
      variants: [
        variant('A', { subject: null }),
        variant('B', { translations: { de: { ...translation, subject: 'B auf Deutsch' } } }),
      ],
    });
    await fixture.test.query(`update audience.subscribers set locale = 'de-AT' where environment_id = $1`, [
      scope.environmentId,
    ]);
    await fixture.sends(scope, campaign);
    fixture.engine.start();
    await lifecycle.isSent(campaign.id);
    for (const row of await rows())
      expect(received().get(row.address)).toBe(row.variant === 1 ? 'Deutsch' : 'B auf Deutsch');
    expect(sink.messages.every(({ raw }) => raw.toString().includes('Guten Tag'))).toBe(true);
  });

  it('leaves out whoever is erased while they wait', async () => {
    const campaign = await fixture.queuedCampaign(scope, 50, TESTED);
    const [one] = waiting(await rows());
    await fixture.test.query(
      `update messaging.deliveries set subscriber_id = null, address = '', next_attempt_at = $2 where id = $1`,
      [one!.id, fixture.clock.now()],
    );
    fixture.engine.start();
    await eventually('theirs is skipped', async () =>
      (await rows()).some(({ state }) => state === 'SKIPPED'),
    );
    expect(states(await rows())['FAILED']).toBeUndefined();
    expect((await found(campaign)).status).toBe('SENDING');
  });
});
