import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TopicsService } from '#audience';
import { providerOf, destinationOf } from '#deliverability';
import { newId, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { prepareProject } from '#testing/programs/system';
import type { Campaign } from '../../campaigns/campaign.js';
import { CampaignsService } from '../../campaigns/campaigns.service.js';
import { DeliveryFeedbackService } from '../../engagement/delivery-feedback.service.js';
import { HOUR_FIGURES } from '../../engagement/mail-hours.repository.js';
import { TrackedEventsService } from '../../engagement/tracked-events.service.js';
import { MessagingFixture } from '../../messaging.fixture.js';
import { outcomeOf } from '../../sending/delivery-outcome.js';
import { DeliveryClaimsQuery } from '../../sending/engine/delivery-claims.query.js';
import { DeliveryStoreRepository } from '../../sending/engine/delivery-store.repository.js';
import {
  MailStatisticsQuery,
  STATISTICS_DIMENSIONS,
  STATISTICS_INTERVALS,
  type StatisticsDimension,
  type StatisticsRow,
} from './mail-statistics.query.js';
import { statisticsDiscrepancies } from './statistics-check.query.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const DOMAINS = ['gmail.com', 'googlemail.com', 'web.de', 'acme.example'];
const READERS = 12;
const BY = STATISTICS_DIMENSIONS.filter((by) => by !== 'automation' && by !== 'tag' && by !== 'template');

/** A number of a mail, where and when it counts. */
interface Happened {
  readonly at: Date;
  readonly figure: (typeof HOUR_FIGURES)[number];
  readonly campaign: string;
  readonly topics: string[];
  readonly provider: string;
  readonly relay: string | null;
}

/** Figures by their bucket and key, of those that are not zero. */
const byBucket = (rows: readonly (readonly [at: Date, key: string | null, figure: string, n: number])[]) => {
  const sums: Record<string, number> = {};
  for (const [at, key, figure, n] of rows) {
    const place = `${at.toISOString()} ${key} ${figure}`;
    sums[place] = (sums[place] ?? 0) + n;
  }
  return Object.fromEntries(Object.entries(sums).filter(([, n]) => n !== 0));
};

describe('statistics over campaigns and time', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;
  let campaigns: readonly Campaign[];
  let topicKeys: ReadonlyMap<string, string>;
  let start: Date;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
    scope = (await prepareProject(fixture.test, '')).live;
    start = fixture.clock.now();
    const draft = await fixture.draft(scope, READERS);
    await fixture.test.query(
      `update audience.subscribers set email = replace(email, 'example.com', d.name), email_key = replace(email_key, 'example.com', d.name)
       from unnest($1::text[]) with ordinality d(name, n) where substring(subscriber_key from '\\d+')::int % $2 = d.n - 1`,
      [DOMAINS, DOMAINS.length],
    );
    const other = await fixture.get(TopicsService).create(scope, { name: 'Art', doubleOptInEnabled: false });
    const both = await fixture.get(CampaignsService).create(scope, {
      name: 'Both',
      subject: 'Both',
      contentText: 'Both',
      topicIds: [...draft.topicIds, other.id],
    });
    campaigns = [draft, both];
    const topics = await fixture.test.query<{ id: string; topic_key: string }>(
      'select id, topic_key from audience.topics',
    );
    topicKeys = new Map(topics.map(({ id, topic_key: key }) => [id, key]));
    for (const campaign of campaigns) await fixture.sends(scope, campaign);
    for (const { id } of campaigns)
      for (const relayKey of [null, 'APIT-1']) {
        await sendsHalf(id, relayKey);
        fixture.clock.advance(9 * HOUR);
      }
    await readersAct();
  });
  afterAll(() => fixture?.close());

  /** Sends half of a campaign's mails by a relay. */
  async function sendsHalf(campaignId: string, relayKey: string | null): Promise<void> {
    const claims = fixture.get(DeliveryClaimsQuery);
    const underWay = await claims.campaignsUnderWay({ environment: 'LIVE', scope: null });
    const campaign = underWay.find(({ id }) => id === campaignId);
    const claimed = await claims.claimCampaign(campaign!, READERS / 2, newId());
    const starting = claimed.map((delivery) => ({ ...delivery, relayKey }));
    const store = fixture.get(DeliveryStoreRepository);
    const now = fixture.clock.now();
    await store.write(scope, { outcomes: [], starting, usagePeriod: null, flushed: true }, now);
    const reply = { code: 250, enhancedCode: null, text: 'Taken' };
    const outcomes = starting.map((delivery) =>
      outcomeOf(delivery, { kind: 'accepted', reply }, 'RESEND', now, () => 0.5),
    );
    await store.write(scope, { outcomes, starting: [], usagePeriod: null, flushed: true }, now);
  }

  /** Opens, clicks, bounces, complaints and unsubscriptions over two weeks. */
  async function readersAct(): Promise<void> {
    const mails = await fixture.test.query<{ id: string; source_id: string; day: string; sent_at: Date }>(
      'select id, source_id, queued_on::text as day, sent_at from messaging.deliveries order by id',
    );
    const events = mails.flatMap(({ id, source_id: campaignId, day: queuedOn, sent_at: sentAt }, n) =>
      [3, 3 + 5 * n, 40 * n, 3].slice(0, n % 5).map((hours, place) => ({
        environmentId: scope.environmentId,
        campaignId,
        queuedOn,
        deliveryId: id,
        linkSet: 1,
        type: place % 2 === 0 ? ('OPENED' as const) : ('CLICKED' as const),
        linkNumber: place % 2 === 0 ? null : 1,
        at: new Date(sentAt.getTime() + hours * HOUR + 5_000),
        known: null,
        agent: 'other' as const,
      })),
    );
    // The last first: an earlier look moves the first.
    for (const event of events.toReversed()) await fixture.get(TrackedEventsService).write([event]);
    const feedback = fixture.get(DeliveryFeedbackService);
    for (const [n, { id }] of mails.entries()) {
      if (n % 5 === 1) await feedback.bounced(scope, id, n % 2 === 0 ? 'hard' : 'mailbox');
      if (n % 7 === 2) await feedback.complained(scope, id);
      if (n % 6 === 3) await fixture.unsubscribes(scope, id);
      fixture.clock.advance(7 * HOUR);
    }
  }

  /** All that happened, by brute force from the rows. */
  async function happened(): Promise<Happened[]> {
    const mails = await fixture.test.query<{
      id: string;
      source_id: string;
      address: string;
      relay_key: string | null;
      sent_at: Date;
      bounced_at: Date | null;
    }>(`select * from messaging.deliveries where state = 'SENT'`);
    const events = await fixture.test.query<{
      delivery_id: string;
      type: string;
      bounce_type: string;
      occurred_at: Date;
    }>(`select * from messaging.delivery_events where classification = 'human' order by occurred_at`);
    return mails.flatMap((mail) => {
      const campaign = campaigns.find(({ id }) => id === mail.source_id)!;
      const of = {
        campaign: campaign.campaignKey,
        topics: campaign.topicIds.map((id) => topicKeys.get(id)!),
        provider: providerOf(destinationOf(mail.address)),
        relay: mail.relay_key,
      };
      const own = events.filter(({ delivery_id: id }) => id === mail.id);
      const at = (type: RegExp) =>
        own.filter((event) => type.test(event.type)).map(({ occurred_at: time }) => time);
      const [opens, clicks] = [at(/OPENED|CLICKED/), at(/CLICKED/)];
      const counted: [Happened['figure'], readonly Date[]][] = [
        ['sent', [mail.sent_at]],
        ['delivered', mail.bounced_at === null ? [mail.sent_at] : []],
        ['opened', opens],
        ['uniqueOpens', opens.slice(0, 1)],
        ['clicked', clicks],
        ['uniqueClicks', clicks.slice(0, 1)],
        ['hardBounced', own.filter((e) => e.bounce_type === 'HARD').map((e) => e.occurred_at)],
        ['softBounced', own.filter((e) => e.bounce_type === 'SOFT').map((e) => e.occurred_at)],
        ['unsubscribed', at(/UNSUBSCRIBED/)],
        ['complained', at(/COMPLAINED/)],
      ];
      return counted.flatMap(([figure, times]) => times.map((time) => ({ ...of, figure, at: time })));
    });
  }

  const keysOf = (event: Happened, by: StatisticsDimension): (string | null)[] =>
    ({
      campaign: [event.campaign],
      automation: [],
      topic: event.topics,
      provider: [event.provider],
      relay: [event.relay],
      tag: [],
      template: [],
    })[by];

  const bucketOf = (at: Date, interval: string): Date => {
    const day = new Date(`${at.toISOString().slice(0, 10)}T00:00:00Z`);
    if (interval === 'hour') return new Date(Math.floor(at.getTime() / HOUR) * HOUR);
    if (interval === 'month') return new Date(`${at.toISOString().slice(0, 7)}-01T00:00:00Z`);
    const sinceMonday = interval === 'week' ? (day.getUTCDay() + 6) % 7 : 0;
    return new Date(day.getTime() - sinceMonday * DAY);
  };

  const flat = (rows: readonly StatisticsRow[]) =>
    byBucket(
      rows.flatMap((row) =>
        HOUR_FIGURES.map((figure) => [row.timestamp, row.key, figure, row[figure]] as const),
      ),
    );

  it.each(BY.flatMap((by) => STATISTICS_INTERVALS.map((interval) => [by, interval] as const)))(
    'by %s and %s are what the mails and events say',
    async (by, interval) => {
      const to = new Date(start.getTime() + 30 * DAY);
      const statistics = await fixture.get(MailStatisticsQuery).of(scope, { from: start, to, interval, by });
      const all = (await happened()).filter(({ at }) => at >= statistics.from && at < statistics.to);
      expect(all.length).toBeGreaterThan(50);
      expect(flat(statistics.rows)).toEqual(
        byBucket(
          all.flatMap((event) =>
            keysOf(event, by).map((key) => [bucketOf(event.at, interval), key, event.figure, 1] as const),
          ),
        ),
      );
      for (const figure of HOUR_FIGURES)
        expect([figure, statistics.totals[figure]]).toEqual([
          figure,
          all.filter((event) => event.figure === figure).length,
        ]);
      for (const row of [...statistics.rows, statistics.totals])
        expect(row.bounced).toBe(row.hardBounced + row.softBounced);
    },
  );

  it('are of whole buckets', async () => {
    const times = { from: new Date('2026-03-04T10:30:00Z'), to: new Date('2026-03-11T00:00:01Z') };
    const bounds = STATISTICS_INTERVALS.map(async (interval) => {
      const told = await fixture.get(MailStatisticsQuery).of(scope, { ...times, interval, by: 'relay' });
      expect([told.rows, told.totals.sent]).toEqual([[], 0]);
      return [told.from, told.to].map((time) => time.toISOString().slice(0, 13));
    });
    expect(await Promise.all(bounds)).toEqual([
      ['2026-03-04T10', '2026-03-11T01'],
      ['2026-03-04T00', '2026-03-12T00'],
      ['2026-03-02T00', '2026-03-16T00'],
      ['2026-03-01T00', '2026-04-01T00'],
    ]);
  });

  it('are found to match by the check', async () => {
    expect(await statisticsDiscrepancies(fixture.get(Database))).toEqual([]);
  });

  it('tell more than a hundred keys together', async () => {
    const campaignIds = Array.from({ length: 103 }, () => newId());
    const { test: other } = await prepareProject(fixture.test, '');
    await fixture.test.query(
      `insert into messaging.campaigns (id, environment_id, campaign_key, name, status, created_at, updated_at)
       select id, $1, 'MANY-' || n, 'Many', 'SENT', now(), now() from unnest($2::uuid[]) with ordinality c(id, n)`,
      [other.environmentId, campaignIds],
    );
    await fixture.test.query(
      `insert into messaging.mail_hours (environment_id, hour, campaign_id, provider, writer, sent)
       select $1, date_trunc('hour', $3::timestamptz), id, 'other', 1, n from unnest($2::uuid[]) with ordinality c(id, n)`,
      [other.environmentId, campaignIds, start],
    );
    const to = new Date(start.getTime() + DAY);
    const request = { from: start, to, interval: 'day', by: 'campaign' } as const;
    const { rows, totals, othersCount } = await fixture.get(MailStatisticsQuery).of(other, request);
    expect([rows.length, othersCount, totals.sent]).toEqual([101, 3, (103 * 104) / 2]);
    expect([rows[0], rows.find(({ key }) => key === null)]).toMatchObject([
      { key: 'MANY-103', sent: 103 },
      { key: null, name: null, sent: 1 + 2 + 3 },
    ]);
  });
});
