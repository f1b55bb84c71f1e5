import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isTimeZone, momentOfLocalTime, newId, type ProjectScope } from '#kernel';
import * as fc from '#testing/random/properties';
import { SegmentsService } from '#audience';
import { CampaignLifecycleService } from '../../campaigns/campaign-lifecycle.service.js';
import { CampaignSchedulerService } from '../../campaigns/campaign-scheduler.service.js';
import { MessagingFixture, MINUTE } from '../../messaging.fixture.js';
import type { DeliverySource } from '../delivery-work.js';
import { DeliverySourcesService } from './delivery-sources.service.js';

const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The Sunday of a day's week; the days are counted from a Thursday. */
const sunday = (day: number) => Math.floor((day + 4) / 7) * 7 - 4;
/** The night in which clocks in Berlin skip it, and when it comes, by time zone; the project is in Los Angeles. */
const LOCAL = '2027-03-28T02:30';
const MOMENTS = [
  ['Pacific/Kiritimati', '2027-03-27T12:30:00.000Z'],
  ['Asia/Kolkata', '2027-03-27T21:00:00.000Z'],
  ['Europe/Berlin', '2027-03-28T01:30:00.000Z'],
  ['America/New_York', '2027-03-28T06:30:00.000Z'],
  [null, '2027-03-28T09:30:00.000Z'],
  ['Mars/Olympus', '2027-03-28T09:30:00.000Z'],
] as const;
const FIRST = MOMENTS[0][1];

describe('a campaign at its recipients’ own hour', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;
  let source: DeliverySource;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
    const found = fixture.get(DeliverySourcesService).of('LIVE').at(-1);
    if (found === undefined) throw new Error('There are no sources.');
    source = found;
  });
  afterAll(() => fixture.close());

  beforeEach(async () => {
    await fixture.clear();
    await fixture.test.query(`delete from audience.subscribers; delete from audience.topics`);
    scope = await fixture.scope();
    at('2027-03-20T00:00:00.000Z');
  });

  const at = (moment: string, after = 0) =>
    fixture.clock.advance(Date.parse(moment) + after - fixture.clock.now().getTime());
  const control = () => fixture.get(CampaignLifecycleService);

  /** To somebody in each of the time zones. */
  async function scheduled(scheduledAtLocal = LOCAL, segmentIds: readonly string[] = []) {
    const draft = await fixture.draft(scope, MOMENTS.length, { scheduledAtLocal, segmentIds });
    await fixture.test.query(
      `update audience.subscribers s set time_zone = z.name
       from unnest($1::text[]) with ordinality as z(name, place) where s.email = 'reader-' || z.place || '@example.com'`,
      [MOMENTS.map(([zone]) => zone)],
    );
    await fixture.test.query(`update access.projects set time_zone = 'America/Los_Angeles' where id = $1`, [
      scope.projectId,
    ]);
    return fixture.get(CampaignLifecycleService).schedule(scope, draft.campaignKey);
  }

  /** Lets it begin, when its first moment has come or later. */
  async function begun(moment: string = FIRST) {
    const campaign = await scheduled();
    at(moment);
    await fixture.get(CampaignSchedulerService).pass();
    await fixture.expand(scope, campaign.id);
    return campaign;
  }

  /** Time zones of the readers who get it now; their mails become SENT. */
  async function reached(): Promise<(string | null)[]> {
    const works = await source.claim(10, newId());
    await fixture.test.query(
      `update messaging.deliveries set state = 'SENT', sent_at = $2, finished_at = $2 where id = any($1)`,
      [works.map(({ delivery }) => delivery.id), fixture.clock.now()],
    );
    return works.map(({ delivery }) => MOMENTS[Number(delivery.address.match(/\d+/)?.[0]) - 1]?.[0] ?? null);
  }
  const statusOf = async ({ id }: { readonly id: string }) => (await fixture.campaign(id)).status;

  it('begins where it is that hour first, reaches everybody at that hour, and is sent when the last was reached', async () => {
    const campaign = await scheduled();
    expect(campaign).toMatchObject({ scheduledAt: new Date(FIRST), scheduledAtLocal: LOCAL });
    at(FIRST, -1);
    await fixture.get(CampaignSchedulerService).pass();
    expect(await statusOf(campaign)).toBe('SCHEDULED');
    at(FIRST);
    await fixture.get(CampaignSchedulerService).pass();
    await fixture.expand(scope, campaign.id);
    for (const [moment, those] of Map.groupBy(MOMENTS, ([, each]) => each)) {
      at(moment, -1);
      expect(await reached()).toEqual([]);
      expect(await statusOf(campaign)).toBe('SENDING');
      at(moment);
      expect(new Set(await reached())).toEqual(new Set(those.map(([zone]) => zone)));
    }
    expect(await reached()).toEqual([]);
    expect(await statusOf(campaign)).toBe('SENT');
  });

  it('to a segment reaches its members alone, each at their hour', async () => {
    const where = { field: 'subscriber.time_zone', op: 'in', value: ['Asia/Kolkata', 'Europe/Berlin'] };
    const segment = await fixture.get(SegmentsService).create(scope, {
      name: 'Far',
      description: null,
      rules: JSON.stringify({ version: 1, where }),
    });
    const campaign = await scheduled(LOCAL, [segment.id]);
    at(FIRST);
    await fixture.get(CampaignSchedulerService).pass();
    await fixture.expand(scope, campaign.id);
    for (const [zone, moment] of [MOMENTS[1], MOMENTS[2]]) {
      at(moment, -1);
      expect(await reached()).toEqual([]);
      at(moment);
      expect(await reached()).toEqual([zone]);
    }
    expect(await reached()).toEqual([]);
    expect(await statusOf(campaign)).toBe('SENT');
  });

  it('moves nobody’s mail when they move after it began', async () => {
    await begun();
    await fixture.test.query(`update audience.subscribers set time_zone = 'Pacific/Kiritimati'`);
    expect(await reached()).toEqual(['Pacific/Kiritimati']);
    at(MOMENTS[1][1]);
    expect(await reached()).toEqual(['Asia/Kolkata']);
  });

  it('tries a mail for 48 hours from its hour on, not from its beginning', async () => {
    await begun();
    await reached();
    at(MOMENTS[1][1]);
    const [work] = await source.claim(10, newId());
    expect(work?.delivery.dueSince).toEqual(fixture.clock.now());
  });

  it('reaches those at once whose hour has passed when it is scheduled late or nothing ran', async () => {
    await begun(MOMENTS[2][1]);
    expect(await reached()).toEqual(['Pacific/Kiritimati', 'Asia/Kolkata', 'Europe/Berlin']);
    expect(await reached()).toEqual([]);
  });

  it.each([
    [0, 'QUEUED_FOR_SENDING', null],
    [1, 'FAILED', 'missed'],
  ])(
    'is missed when a day and %i ms have passed since the last had that hour: %s',
    async (after, ...expected) => {
      const campaign = await scheduled();
      at(`${LOCAL}-12:00`, 24 * HOUR + after);
      await fixture.get(CampaignSchedulerService).pass();
      const { status, failure_reason: reason } = await fixture.campaign(campaign.id);
      expect([status, reason]).toEqual(expected);
    },
  );

  it('keeps to the hours of those it has not reached when it is sent again after it failed', async () => {
    const campaign = await begun();
    await reached();
    await fixture.test.query(`update messaging.deliveries set due_since = created_at - interval '3 days'`);
    await fixture.get(CampaignLifecycleService).fail(scope, campaign.id, 'The sky fell.');
    await fixture.closed(scope, campaign.id);
    at(MOMENTS[1][1]);
    await fixture.sends(scope, campaign);
    const open = await fixture.test.query(
      'select 1 from messaging.deliveries where finished_at is null and due_since is not null',
    );
    expect(open).toEqual([]);
    expect(await reached()).toEqual(['Asia/Kolkata']);
    expect(await reached()).toEqual([]);
    at(MOMENTS[4][1]);
    expect(await reached()).toHaveLength(4);
    expect(await reached()).toEqual([]);
    expect(await statusOf(campaign)).toBe('SENT');
  });

  it('rests while it is paused, and catches up when it goes on', async () => {
    const { campaignKey } = await begun();
    await control().pause(scope, campaignKey);
    at(MOMENTS[1][1]);
    expect(await reached()).toEqual([]);
    await control().resume(scope, campaignKey);
    expect(await reached()).toEqual(['Pacific/Kiritimati', 'Asia/Kolkata']);
    expect(await reached()).toEqual([]);
  });

  it('gives the e-mails back of those whose hour had not come when it is cancelled', async () => {
    const campaign = await begun();
    expect(await fixture.usage(scope)).toEqual({ used: 0, reserved: MOMENTS.length });
    await reached();
    await control().cancel(scope, campaign.campaignKey);
    await fixture.closed(scope, campaign.id);
    const rows = await fixture.deliveries();
    expect(rows.map(({ state }) => state).toSorted()).toEqual([...Array(5).fill('CANCELLED'), 'SENT']);
    expect((await fixture.usage(scope)).reserved).toBe(1);
  });

  it('goes to everybody at once when it is sent before its time', async () => {
    const { campaignKey, id } = await scheduled();
    const sent = await fixture.sends(scope, { campaignKey });
    expect(sent).toMatchObject({ id, scheduledAt: null, scheduledAtLocal: null });
    expect(await reached()).toHaveLength(MOMENTS.length);
  });

  it('takes each hour for the moment that PostgreSQL takes it for, or for the first of two', async () => {
    const names = await fixture.test.query<{ name: string }>(
      // No names such as CET: PostgreSQL takes them for abbreviations, which know no summer.
      `select name from pg_timezone_names where name like '%/%'`,
    );
    const zones = fc.constantFrom(...names.map(({ name }) => name).filter(isTimeZone));
    // Days of years whose rules no country changes any more, half of the minutes in nights when clocks may be changed.
    const day = fc.integer({ min: Date.UTC(2005, 0) / DAY, max: Date.UTC(2020, 0) / DAY });
    const minute = fc.oneof(
      fc
        .tuple(day, fc.integer({ min: 0, max: 24 * 60 - 1 }))
        .map(([days, minutes]) => days * 24 * 60 + minutes),
      fc
        .tuple(day, fc.integer({ min: 0, max: 4 * 60 }))
        .map(([days, minutes]) => sunday(days) * 24 * 60 + minutes),
    );
    const samples = fc.sample(fc.tuple(zones, minute), 20_000).map(([zone, minutes]) => ({
      zone,
      local: new Date(minutes * MINUTE).toISOString().slice(0, 16),
    }));
    const differing = await fixture.test.query(
      `select * from jsonb_to_recordset($1::jsonb) as s(zone text, local timestamp, ours timestamptz)
       where ours <> local at time zone zone and not (ours < local at time zone zone and ours at time zone zone = local)`,
      [JSON.stringify(samples.map((one) => ({ ...one, ours: momentOfLocalTime(one.local, one.zone) })))],
    );
    expect(differing).toEqual([]);
  });
});
