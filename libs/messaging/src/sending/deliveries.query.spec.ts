import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Cursor, NotFoundError, parseEmailAddress, type ProjectScope } from '#kernel';
import { prepareProject } from '#testing/programs/system';
import { CampaignLifecycleService } from '../campaigns/campaign-lifecycle.service.js';
import { DeliveryFeedbackService } from '../engagement/delivery-feedback.service.js';
import { TrackedEventsService } from '../engagement/tracked-events.service.js';
import { MessagingFixture } from '../messaging.fixture.js';
import { DeliveriesQuery, type DeliveryFilters, type DeliveryRow } from './deliveries.query.js';
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
    fixture.get(DeliveriesQuery).list(scope, key, { page, size, status });

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
          .list(scope, campaignKey, { size, after, status: size === 2 ? 'SENT' : undefined });
        seen.push(...page.items.map(({ id }) => id));
        expect(page.totalElements).toBe(after === undefined ? 25 : 1_000);
        after = page.next === null ? undefined : { page: 0, totalElements: 1_000, place: page.next };
      } while (after !== undefined);
      expect(seen).toEqual(whole);
    }
  });

  describe('of which readers did something', () => {
    const contentJson = JSON.stringify({
      blocks: ['one', 'two'].map((name) => ({
        type: 'button',
        label: name,
        url: `https://acme.example/${name}?utm_source=mail`,
      })),
    });
    let key: string;

    /** Readers 1 to 4 of ten open, 3 to 6 follow the first link, 6 and 7 the second, twice; 8 bounces, 9 leaves and complains. */
    beforeEach(async () => {
      const campaign = await fixture.queuedCampaign(scope, 10, { contentJson });
      key = campaign.campaignKey;
      const mails = await fixture.settled('all are sent', ({ state }) => state === 'SENT');
      const linkSet = await fixture.linkSetOf(campaign.id);
      const [{ day } = { day: '' }] = await fixture.test.query<{ day: string }>(
        'select min(queued_on)::text as day from messaging.deliveries',
      );
      const idOf = (reader: number) =>
        mails.find(({ address }) => address === `reader-${reader}@example.com`)!.id;
      const look = (reader: number, linkNumber: number | null) => ({
        environmentId: scope.environmentId,
        campaignId: campaign.id,
        queuedOn: day,
        deliveryId: idOf(reader),
        linkSet,
        type: linkNumber === null ? ('OPENED' as const) : ('CLICKED' as const),
        linkNumber,
        at: new Date(fixture.clock.now().getTime() + 60_000),
        known: null,
        agent: 'other' as const,
      });
      await fixture
        .get(TrackedEventsService)
        .write([
          ...[1, 2, 3, 4].map((reader) => look(reader, null)),
          ...[3, 4, 5, 6].map((reader) => look(reader, 1)),
          ...[6, 7, 6, 7].map((reader) => look(reader, 2)),
        ]);
      const feedback = fixture.get(DeliveryFeedbackService);
      await feedback.bounced(scope, idOf(8), 'mailbox');
      await fixture.unsubscribes(scope, idOf(9));
      await feedback.complained(scope, idOf(9));
    });

    const found = async (filters: DeliveryFilters) => {
      const { items, totalElements } = await fixture
        .get(DeliveriesQuery)
        .list(scope, key, { page: 0, size: 100, ...filters });
      expect(totalElements).toBe(items.length);
      return items.map(numberOf).sort((one, other) => one - other);
    };
    const numberOf = ({ email }: DeliveryRow) => Number(/\d+/.exec(email ?? '0')?.[0]);
    const SECOND = 'https://acme.example/two?utm_source=mail';

    const SELECTIONS: readonly (readonly [DeliveryFilters, readonly number[]])[] = [
      [{ opened: true }, [1, 2, 3, 4, 5, 6, 7]],
      [{ opened: false }, [8, 9, 10]],
      [{ clicked: true }, [3, 4, 5, 6, 7]],
      [{ clicked: false }, [1, 2, 8, 9, 10]],
      [{ opened: true, clicked: false }, [1, 2]],
      [{ opened: false, clicked: true }, []],
      [{ link: '1' }, [3, 4, 5, 6]],
      [{ link: SECOND }, [6, 7]],
      [{ link: '2', clicked: true, status: 'SENT' }, [6, 7]],
      [{ bounced: true }, [8]],
      [{ bounced: false, opened: false }, [9, 10]],
      [{ bounced: true, opened: true }, []],
      [{ status: 'SENT', clicked: false, bounced: false }, [1, 2, 9, 10]],
      [{ status: 'FAILED', opened: false }, []],
    ];

    it('shows what became of each, and those of which filters hold, with their number', async () => {
      for (const [filters, readers] of SELECTIONS)
        expect([filters, await found(filters)]).toEqual([filters, readers]);
      const { items } = await list(key, 0, 100);
      const rowOf = (reader: number) => items.find((item) => numberOf(item) === reader);
      const never = { openedAt: null, clickedAt: null, clicks: 0, bouncedAt: null, bounceClass: null };
      expect(rowOf(6)).toMatchObject({ openedAt: expect.any(Date), clickedAt: expect.any(Date), clicks: 3 });
      expect(rowOf(8)).toMatchObject({ ...never, bouncedAt: expect.any(Date), bounceClass: 'mailbox' });
      const answered = { unsubscribedAt: expect.any(Date), complainedAt: expect.any(Date) };
      expect(rowOf(9)).toMatchObject({ ...never, ...answered });
      expect(rowOf(10)).toMatchObject({ ...never, unsubscribedAt: null, complainedAt: null });
    });

    it('shows the same once events are kept no longer', async () => {
      await fixture.test.query(
        `insert into platform.retention_horizons (kind, environment_id, kept_from) values ('EVENTS', $1, now() + interval '1 day')`,
        [scope.environmentId],
      );
      await fixture.test.query('delete from messaging.delivery_events');
      for (const [filters, readers] of SELECTIONS)
        expect([filters, await found(filters)]).toEqual([filters, readers]);
      await fixture.test.query('delete from platform.retention_horizons');
    });

    it('finds an address, whole alone, and masks it for those who may not see subscribers', async () => {
      const addressed = (text: string) => {
        const parsed = parseEmailAddress(text);
        return 'address' in parsed ? { email: parsed.address } : {};
      };
      expect(await found(addressed('READER-3@example.com'))).toEqual([3]);
      expect(await found(addressed('reader@example.com'))).toEqual([]);
      await fixture.test.query(
        `update messaging.deliveries set last_error = '550 <reader-3@example.com> is full' where address like 'reader-3@%'`,
      );
      const { items } = await fixture
        .get(DeliveriesQuery)
        .list(scope, key, { page: 0, size: 20, ...addressed('reader-3@example.com') }, false);
      expect(items).toMatchObject([{ email: 'r…@example.com', lastError: '550 <r…@example.com> is full' }]);
    });

    it('says that the campaign does not have a link', async () => {
      for (const link of ['3', '0', 'https://acme.example/two'])
        await expect(found({ link })).rejects.toMatchObject({
          errors: { link: expect.stringContaining('link') },
        });
    });
  });

  it('is empty before it is sent, and not there for a stranger', async () => {
    const { campaignKey } = await fixture.draft(scope, 1);
    expect(await list(campaignKey, 0, 20)).toEqual({ items: [], totalElements: 0, next: null });
    const stranger = await fixture.scope();
    await expect(
      fixture.get(DeliveriesQuery).list(stranger, campaignKey, { page: 0, size: 20 }),
    ).rejects.toThrow(NotFoundError);
  });
});
