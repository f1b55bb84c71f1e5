import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import type { ProjectScope } from '#kernel';
import { Database, TrackingTokens } from '#platform';
import * as fc from '#testing/random/properties';
import {
  type Act,
  acts,
  expectedByLink,
  expectedTotals,
  linkedContent,
  READERS,
} from '#testing/fixtures/reader-acts';
import { prepareProject } from '#testing/programs/system';
import type { Campaign } from '../campaigns/campaign.js';
import { type DeliveryRow, MessagingFixture } from '../messaging.fixture.js';
import { CampaignLinksQuery } from '../reports/statistics/campaign-links.query.js';
import { CampaignStatisticsQuery } from '../reports/statistics/campaign-statistics.query.js';
import { statisticsDiscrepancies } from '../reports/statistics/statistics-check.query.js';
import { TimelineQuery } from '../reports/statistics/timeline.query.js';
import type { TrackedEvent } from './event-batch.query.js';
import { TrackedEventsService } from './tracked-events.service.js';
import { TrackingService } from './tracking.service.js';

const RUNS = fc.runs(40);

describe('opens and clicks of a campaign', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;
  let campaign: Campaign;
  let deliveries: DeliveryRow[];
  let queuedOn: string;
  let sentAt: number;
  let linkSet: number;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
    scope = (await prepareProject(fixture.test, '')).test;
    campaign = await fixture.queuedCampaign(scope, READERS, { contentJson: linkedContent });
    fixture.engine.start();
    deliveries = await fixture.settled('all are sent', ({ state }) => state === 'SENT');
    const [row] = await fixture.test.query<{ sent_at: Date; day: string }>(
      `select max(sent_at) as sent_at, min(queued_on)::text as day from messaging.deliveries`,
    );
    sentAt = row!.sent_at.getTime();
    queuedOn = row!.day;
    linkSet = await fixture.linkSetOf(campaign.id);
  });
  afterAll(async () => {
    await fixture?.close();
  });

  const eventOf = ({ reader, ms, place, known }: Act): TrackedEvent => ({
    environmentId: scope.environmentId,
    campaignId: campaign.id,
    queuedOn,
    deliveryId: deliveries[reader]!.id,
    linkSet,
    type: place === 0 ? 'OPENED' : 'CLICKED',
    linkNumber: place === 0 ? null : place,
    at: new Date(sentAt + ms),
    known,
    agent: 'other',
  });
  const statistics = async () =>
    (await fixture.get(CampaignStatisticsQuery).of(scope, campaign.campaignKey)).statistics;
  /** Clicks and the mails with some, by link. */
  const clicksByLink = async () => {
    const links = await fixture.get(CampaignLinksQuery).of(scope, campaign.campaignKey);
    return new Map(links.map(({ linkNumber, clicks, uniqueClicks }) => [linkNumber, [clicks, uniqueClicks]]));
  };
  const forgetAll = () =>
    fixture.test.query(`
      delete from messaging.delivery_events;
      delete from messaging.delivery_engagement;
      delete from messaging.link_counters;
      update messaging.campaign_counters set opened = 0, unique_opens = 0, clicked = 0, unique_clicks = 0, last_event_at = null;
      update messaging.campaign_minutes set opened = 0, clicked = 0;
      update messaging.mail_hours set opened = 0, unique_opens = 0, clicked = 0, unique_clicks = 0`);
  const write = (made: readonly Act[]) => fixture.get(TrackedEventsService).write(made.map(eventOf));

  it('are counted the same in whatever batches they come, and the counters are what the events say', async () => {
    await fc.assert(
      fc.asyncProperty(
        acts,
        fc.array(fc.integer({ min: 1, max: 10 }), { maxLength: 10 }),
        async (made, sizes) => {
          await forgetAll();
          let begin = 0;
          for (const size of [...sizes, made.length]) {
            await write(made.slice(begin, begin + size));
            begin += size;
          }
          expect(await statistics()).toMatchObject(expectedTotals(made));
          expect(await clicksByLink()).toEqual(expectedByLink(made));
          expect(await statisticsDiscrepancies(fixture.get(Database))).toEqual([]);
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('are counted the same when several processes write them at once', async () => {
    await fc.assert(
      fc.asyncProperty(acts, async (made) => {
        await forgetAll();
        const shares = [0, 1, 2, 3].map((share) => made.filter((_, index) => index % 4 === share));
        await Promise.all(shares.map(write));
        expect(await statistics()).toMatchObject(expectedTotals(made));
        expect(await clicksByLink()).toEqual(expectedByLink(made));
        expect(await statisticsDiscrepancies(fixture.get(Database))).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it('of a link that is followed with two others in a second are a scanner’s, also those counted before', async () => {
    await forgetAll();
    await write([{ reader: 0, ms: 5_000, place: 1, known: null }]);
    expect(await statistics()).toMatchObject({ totalClicked: 1, uniqueClicks: 1, uniqueOpens: 1 });
    await write([
      { reader: 0, ms: 5_200, place: 2, known: null },
      { reader: 0, ms: 5_400, place: 3, known: null },
    ]);
    expect(await statistics()).toMatchObject({
      totalClicked: 0,
      uniqueClicks: 0,
      totalOpened: 0,
      uniqueOpens: 0,
    });
    const rows = await fixture.test.query(`select distinct classification from messaging.delivery_events`);
    expect(rows).toEqual([{ classification: 'scanner' }]);
  });

  it('make a timeline whose sums are the totals', async () => {
    await forgetAll();
    await write([
      { reader: 0, ms: 3_000, place: 0, known: null },
      { reader: 1, ms: 3_600_000, place: 1, known: null },
      { reader: 2, ms: 7_300_000, place: 0, known: 'proxy' },
    ]);
    const points = await fixture.get(TimelineQuery).of(scope, campaign.campaignKey, 'hour');
    const total = (of: (point: (typeof points)[number]) => number) =>
      points.reduce((sum, point) => sum + of(point), 0);
    expect([total(({ sent }) => sent), total(({ delivered }) => delivered)]).toEqual([READERS, READERS]);
    expect([total(({ opened }) => opened), total(({ clicked }) => clicked)]).toEqual([2, 1]);
    expect(points.every(({ timestamp }) => timestamp.getTime() % 3_600_000 === 0)).toBe(true);
  });

  it('are found out by the check when a counter is wrong', async () => {
    await fixture.test.query(`update messaging.campaign_counters set sent = sent + 1 where sent > 0`);
    const found = await statisticsDiscrepancies(fixture.get(Database));
    expect(found).toMatchObject([
      { campaignId: campaign.id, counter: 'sent', counted: READERS + 1, actual: READERS },
    ]);
    await fixture.test.query(`update messaging.campaign_counters set sent = sent - 1 where sent > 0`);
    expect(await statisticsDiscrepancies(fixture.get(Database))).toEqual([]);
  });

  describe('by their tokens', () => {
    const human = { method: 'GET', userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Gecko' };
    let tokens: string[];

    beforeAll(async () => {
      const [set] = await fixture.test.query<{ id: string }>(`select id from messaging.link_sets`);
      tokens = fixture
        .get(TrackingTokens)
        .sign(
          { environmentId: scope.environmentId, linkSet: Number(set!.id), deliveryId: deliveries[3]!.id },
          6,
        );
    });

    it('lead to the address that was signed, and are written down without anybody waiting', async () => {
      await forgetAll();
      fixture.clock.advance(10_000);
      const links = fixture.get(TrackingService);
      expect(await links.follow(tokens[2]!, human)).toBe('https://acme.example/two?utm_source=mail');
      expect(links.followAtOnce(tokens[1]!, human)).toBe('https://acme.example/one?utm_source=mail');
      expect(links.open(tokens[0]!, human)).toBe(true);
      await fixture.get(TrackingService).flush();
      expect(await statistics()).toMatchObject({
        totalClicked: 2,
        uniqueClicks: 1,
        totalOpened: 3,
        uniqueOpens: 1,
      });
    });

    it('are nothing when they are forged, of another kind, or of a link that the mail does not have', async () => {
      const links = fixture.get(TrackingService);
      expect(await links.follow(tokens[0]!, human)).toBeNull();
      expect(links.open(tokens[1]!, human)).toBe(false);
      expect(await links.follow(tokens[5]!, human)).toBeNull();
      expect(
        await links.follow(`${tokens[1]!.slice(0, -1)}${tokens[1]!.endsWith('A') ? 'B' : 'A'}`, human),
      ).toBeNull();
      const missing = { environmentId: scope.environmentId, linkSet: 999_999, deliveryId: deliveries[3]!.id };
      expect(await links.follow(fixture.get(TrackingTokens).sign(missing, 2)[1]!, human)).toBeNull();
    });

    it('are not followed when somebody changed where they lead', async () => {
      await fixture.test.query(
        `insert into messaging.link_sets (environment_id, campaign_id, queued_on, urls, signature, created_at)
         select environment_id, campaign_id, queued_on, array['https://evil.example'], sha256(signature), now() from messaging.link_sets`,
      );
      const [set] = await fixture.test.query<{ id: string }>(`select max(id) as id from messaging.link_sets`);
      const forged = {
        environmentId: scope.environmentId,
        linkSet: Number(set!.id),
        deliveryId: deliveries[3]!.id,
      };
      expect(
        await fixture.get(TrackingService).follow(fixture.get(TrackingTokens).sign(forged, 2)[1]!, human),
      ).toBeNull();
    });
  });
});

describe('without tracking', () => {
  let fixture: MessagingFixture;

  beforeAll(async () => {
    fixture = await MessagingFixture.open({ TRACKING: 'false' });
  });
  afterAll(async () => {
    await fixture?.close();
  });

  it('a mail has neither pixel nor rewritten links, and its numbers are PARTIAL', async () => {
    const scope = (await prepareProject(fixture.test, '')).test;
    const { campaignKey } = await fixture.queuedCampaign(scope, 1, { contentJson: linkedContent });
    fixture.engine.start();
    await fixture.settled('it is sent', ({ state }) => state === 'SENT');
    const [message] = await fixture.test.query<{ raw: string }>(
      `select convert_from(raw, 'UTF8') as raw from messaging.test_inbox_messages`,
    );
    const { html = '' } = await PostalMime.parse(message!.raw);
    expect(html).toContain('href="https://acme.example/one?utm_source=mail"');
    expect(html).not.toMatch(/\/[lo]\/[\w-]{56}/);
    const { statistics } = await fixture.get(CampaignStatisticsQuery).of(scope, campaignKey);
    expect(statistics).toMatchObject({ status: 'PARTIAL', totalSent: 1, totalOpened: 0, engagementScore: 0 });
  });
});
