import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { Campaign } from '../campaigns/campaign.js';
import { FailedDeliveriesService } from '../campaigns/failed-deliveries.service.js';
import { MailPersonalDataService } from '../mail-personal-data.service.js';
import { MessagingFixture, MINUTE } from '../messaging.fixture.js';
import { DeliverySourcesService } from '../sending/engine/delivery-sources.service.js';
import type { DeliverySource } from '../sending/delivery-work.js';
import { moveFront } from './campaign-front.query.js';

describe('the front of a campaign', () => {
  let fixture: MessagingFixture;
  let source: DeliverySource;
  let scope: ProjectScope;
  let campaign: Campaign;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
  });
  beforeEach(async () => {
    await fixture.clear();
    const found = fixture.get(DeliverySourcesService).of('LIVE').at(-1);
    if (found === undefined) throw new Error('There are no sources.');
    source = found;
    scope = await fixture.scope();
    campaign = await fixture.queuedCampaign(scope, 6);
  });
  afterAll(() => fixture.close());

  const set = (assignments: string, which: string) =>
    fixture.test.query(`update messaging.deliveries set ${assignments} where ${which}`);
  const claimed = async () => (await source.claim(10, newId())).map(({ delivery }) => delivery.address);
  const moved = () =>
    fixture.get(Database).transaction(scope, () => moveFront(fixture.get(Database), scope, campaign.id));
  /** The deliveries before it, as they are. */
  const passed = async () =>
    (
      await fixture.test.query<{ state: string }>(
        `select d.state from messaging.deliveries d join messaging.campaigns c on c.id = d.source_id
         where (d.next_attempt_at, d.id) < (c.front_at, c.front_id)`,
      )
    ).map(({ state }) => state);

  /** Sends it to all but one reader, who waits for tomorrow, and moves the front to where that is. */
  const sentButTo = async (reader: string) => {
    const others = `address <> '${reader}'`;
    await set(`state = 'SENT', sent_at = now(), finished_at = now()`, others);
    await set(`state = 'DEFERRED', next_attempt_at = now() + interval '9 days'`, `not (${others})`);
    await moved();
    expect(await passed()).toEqual(Array.from({ length: 5 }, () => 'SENT'));
    expect(await claimed()).toEqual([]);
  };

  it('passes what has ended, and nothing that was claimed', async () => {
    const [first] = await source.claim(1, newId());
    expect(await source.claim(3, newId())).toHaveLength(3);
    await moved();
    expect(await passed()).toEqual([]);
    await set(`state = 'SENT', sent_at = now(), finished_at = now()`, `id = '${first?.delivery.id}'`);
    expect(await claimed()).toHaveLength(2);
    expect(await passed()).toEqual(['SENT']);
    fixture.clock.advance(MINUTE);
    await set(`lease_until = now() - interval '1 second'`, `state = 'CLAIMED'`);
    expect(await claimed()).toHaveLength(5);
  });

  it('goes back for what failed and is tried again', async () => {
    await sentButTo('reader-3@example.com');
    const again = 'reader-5@example.com';
    await set(`state = 'FAILED', reason = 'network'`, `address = '${again}'`);
    expect(
      await fixture.get(FailedDeliveriesService).putBackChunk(scope, campaign, fixture.clock.now()),
    ).toBe(1);
    expect(await claimed()).toEqual([again]);
  });

  it('goes back for somebody whose mail waits and who is erased', async () => {
    await sentButTo('reader-3@example.com');
    const [waiting] = await fixture.test.query<{ subscriber_id: string }>(
      `select subscriber_id from messaging.deliveries where state = 'DEFERRED'`,
    );
    await fixture
      .get(Database)
      .transaction(scope, () =>
        fixture
          .get(MailPersonalDataService)
          .erase(scope, { subscriberId: waiting?.subscriber_id ?? '', addressDigest: '00' }),
      );
    expect(await claimed()).toEqual(['']);
  });

  it('goes back for who is written down later and gets it sooner', async () => {
    await sentButTo('reader-3@example.com');
    const again = `address = 'reader-5@example.com'`;
    await set(`state = 'CANCELLED'`, again);
    await fixture.test.query(
      `update messaging.campaigns set audience_at = audience_at + interval '1 millisecond', expanded_at = null, expansion_cursor = null`,
    );
    await fixture.expand(scope, campaign.id);
    fixture.clock.advance(MINUTE);
    expect(await claimed()).toEqual(['reader-5@example.com']);
  });

  it('leaves nobody out when it is wrong: a campaign ends when none of its deliveries is open', async () => {
    await set(`state = 'SENT', sent_at = now(), finished_at = now()`, `address <> 'reader-3@example.com'`);
    await fixture.test.query(`update messaging.campaigns set front_at = 'infinity'`);
    expect(await claimed()).toEqual([]);
    expect(await claimed()).toEqual(['reader-3@example.com']);
    const rows = await fixture.test.query<{ status: string }>(`select status from messaging.campaigns`);
    expect(rows).toEqual([{ status: 'SENDING' }]);
  });
});
