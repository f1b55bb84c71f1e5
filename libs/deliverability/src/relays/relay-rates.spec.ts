import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DeliverabilityFixture } from '../deliverability.fixture.js';
import { RelayRates } from './relay.repository.js';
import { RelaysService } from './relays.service.js';

describe('the rate of a relay', () => {
  let fixture: DeliverabilityFixture;

  beforeAll(async () => {
    fixture = await DeliverabilityFixture.start({ OUTGOING_PRIVATE_ADDRESSES: 'true' });
  });

  afterAll(() => fixture.stop());

  const relayOf = async (ratePerSecond: number) => {
    const { live } = await fixture.project();
    const relay = {
      kind: 'SMTP',
      name: 'Ours',
      host: '127.0.0.1',
      port: 587,
      ratePerSecond,
      secrets: {},
    } as const;
    return fixture.get(RelaysService).create(live, relay);
  };
  const take = (relay: Awaited<ReturnType<typeof relayOf>>, wanted: number): Promise<number> =>
    fixture.get(RelayRates).take(relay, wanted);

  it('is shared by all workers: of a second no more places are given than it has', async () => {
    const relay = await relayOf(10);
    const taken = await Promise.all([take(relay, 6), take(relay, 6), take(relay, 6)]);
    expect(taken.toSorted()).toEqual([0, 4, 6]);
    fixture.clock.advance(500);
    expect(await take(relay, 100)).toBe(5);
    fixture.clock.advance(60_000);
    expect(await take(relay, 100)).toBe(10);
  });

  it('may be below one: then there is a place as often as it says', async () => {
    const relay = await relayOf(0.1);
    expect([await take(relay, 5), await take(relay, 5)]).toEqual([1, 0]);
    fixture.clock.advance(9_900);
    expect(await take(relay, 5)).toBe(0);
    fixture.clock.advance(100);
    expect(await take(relay, 5)).toBe(1);
  });
});
