import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { AddressChangesService, consentProof } from '#audience';
import { newId, parseEmailAddress } from '#kernel';
import { CampaignLifecycleService } from '../../campaigns/campaign-lifecycle.service.js';
import { MINUTE } from '../../messaging.fixture.js';
import { CampaignExpansionService } from './campaign-expansion.service.js';
import { CampaignLifecycle, READERS } from './campaign-lifecycle.fixture.js';
import { DeliveryClaimsQuery } from './delivery-claims.query.js';
import { DeliveryStoreRepository } from './delivery-store.repository.js';

const reader = (number: number, domain = 'example.com') => `reader-${number}@${domain}`;

describe('recipients who change their address while a campaign is sent', () => {
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

  const address = (email: string) => {
    const parsed = parseEmailAddress(email);
    if ('fault' in parsed) throw new Error(parsed.fault);
    return parsed.address;
  };
  const move = (from: string, to: string) =>
    fixture
      .get(AddressChangesService)
      .change(
        scope,
        address(from),
        { address: address(to), emailConfirmed: null, patch: {} },
        consentProof('API_KEY', 'key'),
      );
  /** Each person's mails as they left, with the address that the person's delivery names. */
  const mailed = async () => {
    const rows = await fixture.test.query<{ id: string; address: string; address_key: string }>(
      'select id, address, address_key from messaging.deliveries where environment_id = $1 order by subscriber_id',
      [scope.environmentId],
    );
    const wentTo = new Map(
      sink.messages.map(({ raw, to }) => [/<([\da-f-]{36})@/.exec(raw.toString())?.[1], to]),
    );
    expect(sink.messages).toHaveLength(rows.length);
    return rows.map(({ id, address: noted, address_key: key }) => {
      expect(key).toBe(noted);
      expect(wentTo.get(id)).toEqual([noted]);
      return noted;
    });
  };
  const claimed = async () => {
    const [claims, store] = [fixture.get(DeliveryClaimsQuery), fixture.get(DeliveryStoreRepository)];
    const [under] = await claims.campaignsUnderWay({ environment: 'LIVE', scope: null });
    const deliveries = await claims.claimCampaign(under!, 10, newId());
    const batch = { outcomes: [], usagePeriod: under!.usagePeriod, flushed: true };
    const mark = (starting: typeof deliveries) =>
      store.write(scope, { ...batch, starting }, fixture.clock.now());
    return { deliveries, mark };
  };

  it('get it at the new one, which their delivery says', async () => {
    const campaign = await fixture.queuedCampaign(scope, 3);
    await move(reader(2), reader(2, 'example.net'));
    fixture.engine.start();
    await lifecycle.isSent(campaign.id);
    expect(await mailed()).toEqual([reader(1), reader(2, 'example.net'), reader(3)]);
  });

  it('get it once, at the old or the new one, while it is being sent', async () => {
    sink.behave({ at: 'body', action: { delayMs: 5 } });
    const campaign = await fixture.queuedCampaign(scope, READERS);
    fixture.engine.start();
    await eventually('it is being sent', () => sink.count() > 0);
    for (let n = READERS; n > 0; n -= 2) await move(reader(n), reader(n, 'example.net'));
    await lifecycle.isSent(campaign.id);
    const addresses = await mailed();
    expect(addresses).toHaveLength(READERS);
    expect(addresses.some((one) => one.endsWith('@example.net'))).toBe(true);
    expect(new Set(addresses.map((one) => one.split('@')[0])).size).toBe(READERS);
  });

  it('get it at the new one where a killed worker had it, and where it may have arrived at the old one again', async () => {
    const campaign = await fixture.queuedCampaign(scope, 2);
    const { deliveries, mark } = await claimed();
    const first = deliveries.filter(({ address: to }) => to === reader(1));
    expect((await mark(first)).marked.size).toBe(1);
    for (const n of [1, 2]) await move(reader(n), reader(n, 'example.net'));
    fixture.clock.advance(MINUTE);
    fixture.engine.start();
    await lifecycle.isSent(campaign.id);
    expect(await mailed()).toEqual([reader(1), reader(2, 'example.net')]);
  });

  it('get it once each where one has another’s old address while recipients are queued', async () => {
    const { campaignKey } = await fixture.draft(scope, 1_003);
    const campaign = await fixture.get(CampaignLifecycleService).send(scope, campaignKey);
    let chunks = 0;
    const stop = new AbortController();
    Object.defineProperty(stop.signal, 'aborted', { get: () => (chunks += 1) > 1 });
    await fixture.get(CampaignExpansionService).expand(scope, campaign.id, stop.signal);
    expect(await fixture.deliveries()).toHaveLength(1_000);
    await move(reader(1), 'third@example.com');
    await move(reader(1_003), reader(1));
    await move('third@example.com', reader(1_003));
    await lifecycle.expand(campaign.id);
    fixture.engine.start();
    await lifecycle.isSent(campaign.id);
    const addresses = await mailed();
    expect(addresses).toHaveLength(1_003);
    expect([addresses[0], addresses.at(-1)]).toEqual([reader(1_003), reader(1)]);
  });

  it('are asked to confirm at the new address alone', async () => {
    await fixture.asksToConfirm(scope, 'ada@example.com');
    await move('ada@example.com', 'ada@example.net');
    fixture.engine.start();
    const rows = await fixture.settled(
      'both are decided',
      ({ state }) => state === 'SENT' || state === 'SKIPPED',
    );
    expect(rows.map(({ address: to, state, reason }) => [to, state, reason])).toEqual([
      ['ada@example.com', 'SKIPPED', 'nothing-to-confirm'],
      ['ada@example.net', 'SENT', null],
    ]);
    expect(sink.messages.map(({ to }) => to)).toEqual([['ada@example.net']]);
  });

  it('get it no second time when it is sent again', async () => {
    const campaign = await fixture.queuedCampaign(scope, 4);
    const hold: (() => void)[] = [];
    const isHeld = () => sink.count() >= 2;
    sink.behave({ at: 'body', action: { hold: (answer) => hold.push(answer) }, when: isHeld });
    fixture.engine.start();
    await eventually('two are sent', () => sink.count() >= 2 && hold.length > 0);
    await fixture.get(CampaignLifecycleService).fail(scope, campaign.id, 'The sky fell.');
    for (const answer of hold) answer();
    await eventually('all is ended', async () => (await lifecycle.closing(campaign.id)).kind === 'done');
    for (const n of [1, 2, 3, 4]) await move(reader(n), reader(n, 'example.net'));
    // Somebody else has the address that one of them had.
    await move(reader(4, 'example.net'), reader(1));
    fixture.clock.advance(24 * 60 * MINUTE);
    await fixture.resend(scope, campaign);
    await lifecycle.isSent(campaign.id);
    expect(await mailed()).toHaveLength(4);
  });
});
