import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import * as fc from '#testing/random/properties';
import { prepareProject } from '#testing/programs/system';
import type { Campaign } from '../../campaigns/campaign.js';
import { MailPersonalDataService } from '../../mail-personal-data.service.js';
import { type DeliveryRow, MessagingFixture } from '../../messaging.fixture.js';
import { languageFigures, providerFigures } from './campaign-figures.query.js';
import { linkClicks } from './campaign-links.query.js';
import { DeliveryFeedbackService } from '../../engagement/delivery-feedback.service.js';
import { TrackedEventsService } from '../../engagement/tracked-events.service.js';
import { type BrokenDownCampaign, CampaignBreakdownsService } from './campaign-breakdowns.service.js';
import { FEWEST_MAILS_OF_DOMAIN } from './report-facts.js';

const READERS = 40;
const HOUR_MS = 3_600_000;
const RUNS = fc.runs(15);
const contentJson = JSON.stringify({
  blocks: ['one', 'two'].map((name) => ({
    type: 'button',
    label: name,
    url: `https://acme.example/${name}`,
  })),
});

const same = { subject: 'Hallo', previewText: null, contentJson: null, contentText: null };
const translations = { de: same, ja: same };

/** Act of a reader: opens, follows a link, has a mailbox that gives the mail back, or is a scanner. */
const act = fc.record({
  reader: fc.nat(READERS - 1),
  what: fc.constantFrom('opens', 'clicks', 'bounces', 'is a scanner'),
});

/** Stands before what is drawn: no run ends without an open and a click. */
const openAndClick = [
  { reader: 0, what: 'opens' },
  { reader: 1, what: 'clicks' },
];

describe('a campaign’s figures by link and provider', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;
  let campaign: Campaign;
  let deliveries: DeliveryRow[];
  let mails: BrokenDownCampaign;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
    scope = (await prepareProject(fixture.test, '')).test;
    campaign = await fixture.queuedCampaign(scope, READERS, { contentJson, translations });
    fixture.engine.start();
    deliveries = await fixture.settled('all are sent', ({ state }) => state === 'SENT');
    const [row] = await fixture.test.query<{ queued_at: Date; day: string }>(
      `select queued_at, (queued_at at time zone 'UTC')::date::text as day from messaging.campaigns where id = $1`,
      [campaign.id],
    );
    mails = {
      id: campaign.id,
      queuedOn: row!.day,
      queuedAt: row!.queued_at,
      translations: Object.keys(translations),
      variants: 0,
    };
    await fixture.test.query(
      `update messaging.deliveries set locale = case when id = $1 then 'ja' when id = $2 then 'pt' else 'de-AT' end`,
      [deliveries[0]!.id, deliveries[1]!.id],
    );
  });
  afterAll(async () => {
    await fixture?.close();
  });

  const shown = async () =>
    (await fixture.get(CampaignBreakdownsService).of(scope, { ...mails, totalSent: READERS }))!;
  const counted = () =>
    fixture.get(Database).transaction(scope, async () => ({
      links: await linkClicks(fixture.get(Database), scope, mails.id),
      providers: await providerFigures(fixture.get(Database), scope, mails, FEWEST_MAILS_OF_DOMAIN),
      languages: await languageFigures(fixture.get(Database), scope, mails),
    }));
  /** Falsifies the stored figures: those that are not read again stay like this. */
  const spoil = (milliseconds: number) =>
    fixture.test.query(
      `update messaging.campaign_breakdowns set providers = '[]', milliseconds = $1 where campaign_id = $2`,
      [milliseconds, campaign.id],
    );

  async function happens({
    reader,
    what,
  }: {
    readonly reader: number;
    readonly what: string;
  }): Promise<void> {
    const delivery = deliveries[reader]!;
    const at = new Date(fixture.clock.now().getTime() + 5_000);
    if (what === 'bounces') {
      await fixture.get(DeliveryFeedbackService).bounced(scope, delivery.id, 'mailbox');
      return;
    }
    await fixture.get(TrackedEventsService).write([
      {
        environmentId: scope.environmentId,
        campaignId: campaign.id,
        queuedOn: mails.queuedOn,
        deliveryId: delivery.id,
        linkSet: await fixture.linkSetOf(campaign.id),
        type: what === 'opens' ? 'OPENED' : 'CLICKED',
        linkNumber: what === 'opens' ? null : 1 + (reader % 2),
        at,
        known: what === 'is a scanner' ? 'scanner' : null,
        agent: 'other',
      },
    ]);
  }

  it('are what a count of all its mails says, whatever readers do', async () => {
    const nothing = { bounced: 0, opened: 0, clicked: 0 };
    expect((await shown()).providers).toEqual([
      { domain: expect.any(String), sent: READERS, delivered: READERS, ...nothing },
    ]);
    expect((await shown()).languages).toEqual([
      { locale: 'de', sent: READERS - 2, delivered: READERS - 2, ...nothing },
      { locale: 'ja', sent: 1, delivered: 1, ...nothing },
      { locale: null, sent: 1, delivered: 1, ...nothing },
    ]);
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 6 }), async (acts) => {
        for (const each of acts) await happens(each);
        fixture.later(HOUR_MS);
        expect(await shown()).toMatchObject({ ...(await counted()), isCurrent: true });
      }),
      { numRuns: RUNS, examples: [[openAndClick]] },
    );
    const { providers, links } = await counted();
    expect(providers[0]?.opened).toBeGreaterThan(0);
    expect(links[0]?.clickers).toBeGreaterThan(0);
  });

  it('are counted once for as long as nothing happens', async () => {
    await shown();
    await spoil(0);
    fixture.later(24 * HOUR_MS);
    expect(await shown()).toMatchObject({ providers: [], isCurrent: true });
  });

  it('are told with their time while counting again would take too much of it, and then counted', async () => {
    await fixture.test.query('delete from messaging.campaign_breakdowns');
    await shown();
    await spoil(3_000);
    await happens({ reader: 3, what: 'clicks' });
    fixture.later(59_000);
    expect(await shown()).toMatchObject({ providers: [], isCurrent: false, countedAt: expect.any(Date) });
    fixture.later(24 * HOUR_MS);
    expect(await shown()).toMatchObject({ ...(await counted()), isCurrent: true });
  });

  it('are counted by one of those who look at the same time', async () => {
    await fixture.test.query('delete from messaging.campaign_breakdowns');
    await fixture.test.query(`
      create table public.counts (at timestamptz);
      create function public.note() returns trigger language plpgsql security definer
        as 'begin insert into public.counts values (now()); return null; end';
      create trigger note after insert or update on messaging.campaign_breakdowns for each row execute function public.note()`);
    const looks = await Promise.all(Array.from({ length: 6 }, shown));
    const { providers } = await counted();
    for (const look of looks) expect(look.providers).toEqual(providers);
    expect(await fixture.test.query('select * from public.counts')).toHaveLength(1);
  });

  async function erase(delivery: DeliveryRow): Promise<void> {
    const [reader] = await fixture.test.query<{ id: string }>(
      'select subscriber_id as id from messaging.deliveries where id = $1',
      [delivery.id],
    );
    const erased = { subscriberId: reader!.id, addressDigest: '00' };
    await fixture
      .get(Database)
      .transaction(scope, () => fixture.get(MailPersonalDataService).erase(scope, erased));
  }

  it('lose a mail of their provider when its reader is erased', async () => {
    await shown();
    await erase(deliveries[0]!);
    expect((await shown()).providers.map(({ domain, sent }) => [domain, sent])).toEqual([
      [expect.any(String), READERS - 1],
      [null, 1],
    ]);
  });

  describe('if it is a large one', () => {
    const shownAtOnce = () =>
      fixture.get(CampaignBreakdownsService).of(scope, { ...mails, totalSent: 1_000_000 });
    const count = () => fixture.get(CampaignBreakdownsService).count(scope, campaign.id);
    /** Campaigns to be counted, of those that a worker is told of now. */
    const toBeCounted = async () => {
      await fixture.test.query('truncate platform.jobs');
      await fixture.get(CampaignBreakdownsService).requestDue();
      const told = await fixture.test.query<{ payload: { campaignId: string } }>(
        `select payload from platform.jobs where name = 'campaigns.count_breakdown'`,
      );
      return told.map(({ payload }) => payload.campaignId);
    };

    beforeEach(async () => {
      fixture.later(HOUR_MS);
      await fixture.test.query('delete from messaging.campaign_breakdowns');
      await fixture.test.query('delete from messaging.breakdowns_due');
    });

    it('are counted by a worker, and nobody who looks waits for it', async () => {
      expect(await shownAtOnce()).toBeNull();
      expect(await shownAtOnce()).toBeNull();
      expect(await toBeCounted()).toEqual([campaign.id]);
      expect(await toBeCounted()).toEqual([]);
      expect(await shownAtOnce()).toBeNull();
      await count();
      expect(await shownAtOnce()).toMatchObject({ ...(await counted()), isCurrent: true });
    });

    it('are what a count of all its mails says, a while after somebody has looked', async () => {
      await count();
      await fc.assert(
        fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 6 }), async (acts) => {
          await shownAtOnce();
          await toBeCounted();
          await count();
          const before = await counted();
          for (const each of acts) await happens(each);
          fixture.later(HOUR_MS);
          const look = await shownAtOnce();
          expect(look).toMatchObject(before);
          expect(await toBeCounted()).toEqual(look?.isCurrent === true ? [] : [campaign.id]);
          await count();
          expect(await shownAtOnce()).toMatchObject({ ...(await counted()), isCurrent: true });
        }),
        { numRuns: RUNS },
      );
    });

    it('are counted again when the campaign is twice as old, though nobody looks', async () => {
      await shownAtOnce();
      await count();
      const age = fixture.clock.now().getTime() - mails.queuedAt.getTime();
      fixture.later(age - 1_000);
      expect(await toBeCounted()).toEqual([]);
      fixture.later(1_000);
      expect(await toBeCounted()).toEqual([campaign.id]);
    });

    it('are counted again when a worker died over it', async () => {
      await shownAtOnce();
      expect(await toBeCounted()).toEqual([campaign.id]);
      fixture.later(HOUR_MS);
      expect(await toBeCounted()).toEqual([campaign.id]);
    });

    it('are counted once it is sent, before anybody looks', async () => {
      await fixture.test.query('update messaging.campaigns set completed_at = $1 where id = $2', [
        fixture.clock.now(),
        campaign.id,
      ]);
      expect(await toBeCounted()).toEqual([]);
      const grow = (by: number) =>
        fixture.test.query('update messaging.campaign_counters set sent = sent + $1 where campaign_id = $2', [
          by,
          campaign.id,
        ]);
      await grow(100_000);
      expect(await toBeCounted()).toEqual([campaign.id]);
      expect(await toBeCounted()).toEqual([]);
      await grow(-100_000);
    });

    it('are forgotten when a reader is erased, and counted without them', async () => {
      await shownAtOnce();
      await count();
      await erase(deliveries[1]!);
      expect(await shownAtOnce()).toBeNull();
      fixture.later(HOUR_MS);
      expect(await toBeCounted()).toEqual([campaign.id]);
      await count();
      expect((await shownAtOnce())?.providers.at(-1)).toMatchObject({ domain: null, sent: 2 });
    });

    it('are not counted any more when it is gone', async () => {
      await shownAtOnce();
      await fixture.test.query('update messaging.campaigns set deleted_at = now() where id = $1', [
        campaign.id,
      ]);
      await count();
      expect(await fixture.test.query('select 1 from messaging.breakdowns_due')).toEqual([]);
      await fixture.test.query('update messaging.campaigns set deleted_at = null where id = $1', [
        campaign.id,
      ]);
    });
  });

  it('are nobody else’s to read', async () => {
    const other = (await prepareProject(fixture.test, 'x')).test;
    const database = fixture.get(Database);
    const rows = await database.transaction(other, () =>
      database.em.execute('select * from messaging.campaign_breakdowns'),
    );
    expect(rows).toEqual([]);
  });
});
