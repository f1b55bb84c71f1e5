import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { newId, type ProjectScope } from '#kernel';
import { eventually } from '#testing/time/eventually';
import { isWaitingForLock } from '#testing/postgres/lock-waits';
import { MessagingFixture } from '../../messaging.fixture.js';
import type { ClaimedDelivery } from '../../deliveries/delivery.js';
import { DeliveryClaimsQuery, LEASE_MS } from './delivery-claims.query.js';
import { DeliveryStoreRepository } from './delivery-store.repository.js';
import { outcomeOf } from '../delivery-outcome.js';

describe('the store of deliveries', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
  });
  afterAll(() => fixture.close());
  beforeEach(async () => {
    await fixture.test.query(
      `delete from messaging.campaigns; delete from messaging.deliveries;
         delete from audience.subscribers; delete from audience.topics`,
    );
    scope = await fixture.scope();
  });

  const store = () => fixture.get(DeliveryStoreRepository);

  async function claimed(readers: number): Promise<ClaimedDelivery[]> {
    await fixture.queuedCampaign(scope, readers);
    const claims = fixture.get(DeliveryClaimsQuery);
    const [campaign] = await claims.campaignsUnderWay({ environment: 'LIVE', scope: null });
    if (campaign === undefined) throw new Error('No campaign has anything to send.');
    const deliveries = await claims.claimCampaign(campaign, readers, newId());
    return deliveries.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  const leaseEnds = () =>
    fixture.test.query<{ id: string; ends: Date }>(
      'select id, lease_until as ends from messaging.deliveries order by id',
    );

  it('marks a delivery by the lease of its own claim alone', async () => {
    const [first, second] = await claimed(2);
    const [own, other] = [first!.leaseToken, newId()];
    const claimedAs = (...tokens: string[]) =>
      [first!, second!].map((delivery, at) => ({ ...delivery, leaseToken: tokens[at]! }));
    const mark = async (starting: readonly ClaimedDelivery[]) => {
      const batch = { outcomes: [], starting, usagePeriod: null, flushed: true };
      return (await store().write(scope, batch, fixture.clock.now())).marked.size;
    };
    expect(await mark(claimedAs(other, other))).toBe(0);
    await fixture.test.query('update messaging.deliveries set lease_token = $2 where id = $1', [
      second!.id,
      other,
    ]);
    expect(await mark(claimedAs(other, own))).toBe(0);
    expect(await mark(claimedAs(other, other))).toBe(1);
    expect(await mark(claimedAs(own, other))).toBe(1);
  });

  it('marks with a whole lease: nobody else takes what is on a wire, however late it was marked', async () => {
    const [only] = await claimed(1);
    fixture.clock.advance(LEASE_MS);
    const batch = { outcomes: [], starting: [only!], usagePeriod: null, flushed: true };
    expect((await store().write(scope, batch, fixture.clock.now())).marked.size).toBe(1);
    const owner = { environment: 'LIVE', scope: null } as const;
    const isDue = () => fixture.get(DeliveryClaimsQuery).campaignsUnderWay(owner);
    expect(await isDue()).toEqual([]);
    fixture.clock.advance(LEASE_MS);
    expect(await isDue()).toMatchObject([{ isDue: true }]);
  });

  it('renews leases while an outcome batch writes some of them, and neither waits for the other for ever', async () => {
    const [first, second] = await claimed(2);
    const writer = new pg.Client({ connectionString: fixture.test.adminUrl });
    await writer.connect();
    const lock = (delivery: ClaimedDelivery | undefined) =>
      writer.query('select 1 from messaging.deliveries where id = $1 for no key update', [delivery?.id]);
    await writer.query('begin');
    await lock(second);
    fixture.clock.advance(5_000);
    let isOver = false;
    const renewal = store()
      .renew(scope, [first!, second!])
      .finally(() => (isOver = true));
    await eventually('it is over, or waits', async () => isOver || (await isWaiting()));
    await lock(first);
    await writer.query('commit');
    await writer.end();
    await renewal;
    const now = fixture.clock.now().getTime();
    expect(await leaseEnds()).toEqual([
      { id: first!.id, ends: new Date(now + LEASE_MS) },
      { id: second!.id, ends: new Date(now + LEASE_MS - 5_000) },
    ]);
  });

  const isWaiting = () => isWaitingForLock(fixture.test);

  it.each([
    ['accepted', 1],
    ['temporary', 1],
    ['route-unavailable', 0],
  ] as const)('counts an attempt whose mark a crash of the server has undone (%s)', async (kind, attempt) => {
    const [delivery] = await claimed(1);
    const reply = { code: 451, enhancedCode: null, text: 'Later' };
    const result = {
      accepted: { kind: 'accepted', reply },
      temporary: { kind: 'temporary', stage: 'rcpt', reply },
      'route-unavailable': { kind: 'route-unavailable', detail: 'no route' },
    }[kind] as Parameters<typeof outcomeOf>[1];
    const outcome = outcomeOf(delivery!, result, 'RESEND', fixture.clock.now(), () => 0.5);
    const entry = { outcomes: [outcome], starting: [], usagePeriod: null, flushed: true };
    await store().write(scope, entry, fixture.clock.now());
    const state = kind === 'accepted' ? 'SENT' : 'DEFERRED';
    expect(await fixture.deliveries()).toMatchObject([{ state, attempt }]);
  });
});
