import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Cursor, NotFoundError, type ProjectScope } from '#kernel';
import { prepareProject } from '#testing/system';
import { CampaignLifecycleService } from '../campaigns/campaign-lifecycle.service.js';
import { MessagingFixture } from '../messaging.fixture.js';
import { DeliveriesQuery } from './deliveries.query.js';
import type { DeliveryState } from '../deliveries/delivery.js';

describe('the list of a campaign’s deliveries', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
  });
  beforeEach(async () => {
    fixture.engine.start();
    scope = (await prepareProject(fixture.test, '')).test;
  });
  afterEach(() => fixture.clear());
  afterAll(() => fixture.close());

  const list = (key: string, page: number, size: number, status?: DeliveryState) =>
    fixture.get(DeliveriesQuery).list(scope, key, { page, size }, status);

  it('shows each once over all pages, and as many as there are', async () => {
    const campaign = await fixture.queuedCampaign(scope, 25);
    await fixture.settled('all are sent', ({ state }) => state === 'SENT');
    const pages = [0, 1, 2].map((page) => list(campaign.campaignKey, page, 10));
    const rows = (await Promise.all(pages)).flatMap(({ items }) => items);
    expect(new Set(rows.map(({ email }) => email)).size).toBe(25);
    expect((await list(campaign.campaignKey, 3, 10)).totalElements).toBe(25);
    expect(rows[0]).toMatchObject({ status: 'SENT', attempts: 1, reason: null, lastError: null });
  });

  it('shows those in one state', async () => {
    const { campaignKey } = await fixture.draft(scope, 6);
    const queued = await fixture.get(CampaignLifecycleService).send(scope, campaignKey);
    await fixture.test.query(`update messaging.campaigns set status = 'PAUSED'`);
    await fixture.expand(scope, queued.id);
    const set = (reader: number, state: DeliveryState, reason: string | null) =>
      fixture.test.query(
        `update messaging.deliveries set state = $2, reason = $3,
           finished_at = case when $2 in ('FAILED', 'SKIPPED', 'CANCELLED', 'AMBIGUOUS', 'SENT') then now() end
         where address = $1`,
        [`reader-${reader}@example.com`, state, reason],
      );
    const states = ['SENT', 'FAILED', 'SKIPPED', 'CANCELLED', 'AMBIGUOUS', 'DEFERRED'] as const;
    for (const [index, state] of states.entries())
      await set(index + 1, state, state === 'SENT' || state === 'DEFERRED' ? null : 'policy');
    await fixture.test.query(
      `insert into messaging.campaign_counters (campaign_id, writer, environment_id, sent) values ($1, 1, $2, 1)`,
      [queued.id, scope.environmentId],
    );
    for (const [index, state] of states.entries()) {
      const { items, totalElements } = await list(campaignKey, 0, 20, state);
      expect([state, totalElements, items.map(({ email }) => email)]).toEqual([
        state,
        1,
        [`reader-${index + 1}@example.com`],
      ]);
    }
    expect((await list(campaignKey, 0, 20, 'SENDING')).totalElements).toBe(0);
  });

  it('shows each once by cursor, those of erased subscribers first, and counts nothing behind the first page', async () => {
    const { campaignKey } = await fixture.queuedCampaign(scope, 25);
    await fixture.settled('all are sent', ({ state }) => state === 'SENT');
    await fixture.test.query(
      `update messaging.deliveries set subscriber_id = null where address in ('reader-3@example.com', 'reader-7@example.com',
       'reader-20@example.com')`,
    );
    const whole = (await list(campaignKey, 0, 100)).items.map(({ id }) => id);
    expect(whole).toHaveLength(25);
    for (const size of [1, 2, 10]) {
      const seen: string[] = [];
      let after: Cursor | undefined;
      do {
        const page = await fixture
          .get(DeliveriesQuery)
          .list(scope, campaignKey, { size, after }, size === 2 ? 'SENT' : undefined);
        seen.push(...page.items.map(({ id }) => id));
        expect(page.totalElements).toBe(after === undefined ? 25 : 1_000);
        after = page.next === null ? undefined : { page: 0, totalElements: 1_000, place: page.next };
      } while (after !== undefined);
      expect(seen).toEqual(whole);
    }
  });

  it('is empty before it is sent, and not there for a stranger', async () => {
    const { campaignKey } = await fixture.draft(scope, 1);
    expect(await list(campaignKey, 0, 20)).toEqual({ items: [], totalElements: 0, next: null });
    const stranger = await fixture.scope();
    await expect(
      fixture.get(DeliveriesQuery).list(stranger, campaignKey, { page: 0, size: 20 }, undefined),
    ).rejects.toThrow(NotFoundError);
  });
});
