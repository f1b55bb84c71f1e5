import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { ProjectScope } from '#kernel';
import { Database, LinkTokens, projectRoot } from '#platform';
import { createTestDatabase, makeTemplate, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { isWaitingForLock } from '#testing/postgres/lock-waits';
import { prepareProject } from '#testing/programs/system';
import type { Campaign } from './campaigns/campaign.js';
import { CampaignLifecycleService } from './campaigns/campaign-lifecycle.service.js';
import { TrackedEventsService } from './engagement/tracked-events.service.js';
import { DeliveryFeedbackService } from './engagement/delivery-feedback.service.js';
import { MailPagesService } from './engagement/mail-pages.service.js';
import { MailPersonalDataService } from './mail-personal-data.service.js';
import { type DeliveryRow, MessagingFixture } from './messaging.fixture.js';
import { CampaignBreakdownsService } from './reports/statistics/campaign-breakdowns.service.js';
import { ReportExportsJob } from './reports/exports/report-exports.job.js';
import { CampaignStatisticsQuery } from './reports/statistics/campaign-statistics.query.js';
import { statisticsDiscrepancies } from './reports/statistics/statistics-check.query.js';
import { TimelineQuery } from './reports/statistics/timeline.query.js';
import { reportFacts } from './reports/writing/report-facts.query.js';
import { DeliveriesQuery } from './sending/deliveries.query.js';
import { ProjectRetentionRepository } from './project-retention.repository.js';
import { ApplyRetention } from './retention.job.js';

const READERS = 60;
const DAY = 24 * 60 * 60_000;
const FOUR_MONTHS = 125 * DAY;
const contentJson = JSON.stringify({
  blocks: ['one', 'two'].map((name) => ({
    type: 'button',
    label: name,
    url: `https://acme.example/${name}`,
  })),
});
const same = { subject: 'Hallo', previewText: null, contentJson: null, contentText: null };

let fixture: MessagingFixture;
let directory: string;
let scope: ProjectScope;
let campaign: Campaign;
let deliveries: DeliveryRow[];

/** With the campaign, its mails and what became of them: each test has a copy. */
let original: TestDatabase;
let template: string;
let begin: Date;

beforeAll(async () => {
  original = await createTestDatabase();
  fixture = await MessagingFixture.openOn(original);
  scope = (await prepareProject(original, '')).test;
  campaign = await fixture.queuedCampaign(scope, READERS, { contentJson, translations: { de: same } });
  await fixture.test.query(
    `update messaging.deliveries set locale = 'de' where address < (select max(address) from messaging.deliveries)`,
  );
  fixture.engine.start();
  deliveries = await fixture.settled('all are sent', ({ state }) => state === 'SENT');
  await eventually('it has ended', async () => (await fixture.campaign(campaign.id)).status === 'SENT');
  await eventsHappen();
  begin = fixture.clock.now();
  await fixture.close();
  template = await makeTemplate(original);
});
afterAll(() => original?.drop());

async function open(settings: Readonly<Record<string, string>>): Promise<void> {
  const copy = await createTestDatabase(template);
  fixture = await MessagingFixture.openOn(copy, { ARCHIVE_DIRECTORY: directory, ...settings }, begin);
  fixture.engine.start();
}

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'mailwright-archive-'));
});
afterEach(async () => {
  await fixture.close();
  await fixture.test.drop();
  await rm(directory, { recursive: true, force: true });
});

async function looks(reader: number, type: 'OPENED' | 'CLICKED', at: Date): Promise<void> {
  const [row] = await fixture.test.query<{ day: string }>(
    `select (queued_at at time zone 'UTC')::date::text as day from messaging.campaigns where id = $1`,
    [campaign.id],
  );
  const linkNumber = type === 'OPENED' ? null : 1 + (reader % 2);
  const { environmentId } = scope;
  await fixture.get(TrackedEventsService).write([
    {
      environmentId,
      campaignId: campaign.id,
      queuedOn: row!.day,
      deliveryId: deliveries[reader]!.id,
      linkSet: await fixture.linkSetOf(campaign.id),
      type,
      linkNumber,
      at,
      known: null,
      agent: 'other',
    },
  ]);
}

const minuteLater = () => new Date(fixture.clock.now().getTime() + 60_000);

async function eventsHappen(): Promise<void> {
  for (const reader of [0, 1, 2, 3, 3]) await looks(reader, 'OPENED', minuteLater());
  for (const reader of [1, 2, 4]) await looks(reader, 'CLICKED', minuteLater());
  const feedback = fixture.get(DeliveryFeedbackService);
  await feedback.bounced(scope, deliveries[10]!.id, 'mailbox');
  await feedback.complained(scope, deliveries[11]!.id);
  await fixture.unsubscribes(scope, deliveries[12]!.id);
}

/** A project of its own, whose mail is kept as the installation's is. */
async function anotherProject(): Promise<void> {
  await fixture.queuedCampaign((await prepareProject(fixture.test, '')).test, 5);
  await fixture.settled('all are sent', ({ state }) => state === 'SENT');
}

const letGo = () => fixture.get(ApplyRetention).run();

/** All that the API tells of the campaign in figures. */
async function figures() {
  const { statistics } = await fixture.get(CampaignStatisticsQuery).of(scope, campaign.campaignKey);
  const [row] = await fixture.test.query<{ queued_at: Date; day: string }>(
    `select queued_at, (queued_at at time zone 'UTC')::date::text as day from messaging.campaigns where id = $1`,
    [campaign.id],
  );
  // Counted anew, whatever was kept of an earlier count.
  await fixture.test.query('delete from messaging.campaign_breakdowns');
  const mails = { id: campaign.id, queuedOn: row!.day, queuedAt: row!.queued_at, translations: ['de'] };
  const shown = { ...mails, variants: 0, totalSent: READERS };
  const { links, providers, languages } = (await fixture.get(CampaignBreakdownsService).of(scope, shown))!;
  const facts = await reportFacts(fixture.get(Database), scope, campaign.id, {
    now: fixture.clock.now(),
    canTrack: true,
  });
  const timeline = await fixture.get(TimelineQuery).of(scope, campaign.campaignKey, 'hour');
  return { statistics, links, providers, languages, facts, timeline };
}

const rowsOf = async (table: string) => {
  const [row] = await fixture.test.query<{ count: number }>(`select count(*)::int as count from ${table}`);
  return row!.count;
};

const rowsLeft = async () => ({
  deliveries: await rowsOf('messaging.deliveries'),
  engagement: await rowsOf('messaging.delivery_engagement'),
  events: await rowsOf('messaging.delivery_events'),
});

const waiting = async () =>
  (
    await fixture.test.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'retired'::regnamespace and relkind = 'r'`,
    )
  ).map(({ name }) => name);

/** The archive's files by their manifests. */
async function archived() {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.json')).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const manifest = JSON.parse(await readFile(join(directory, name), 'utf8')) as Readonly<{
        file: string;
        table: string;
        columns: string[];
        rows: number;
        bytes: number;
        sha256: string;
      }>;
      const content = await readFile(join(directory, manifest.file));
      return { ...manifest, content, lines: gunzipSync(content).toString().trimEnd().split('\n') };
    }),
  );
}

const deliveriesShown = () =>
  fixture.get(DeliveriesQuery).list(scope, campaign.campaignKey, { page: 0, size: 20 });

/** The file with a row for each recipient. */
async function exported(): Promise<string> {
  const [file] = await fixture.test.query<{ id: string }>(
    `insert into messaging.exports (id, environment_id, campaign_id, kind, created_at)
     values (gen_random_uuid(), $1, $2, 'DELIVERIES', now()) returning id`,
    [scope.environmentId, campaign.id],
  );
  await fixture.get(ReportExportsJob).writeDeliveries(scope, { exportId: file!.id }, new AbortController());
  const [part] = await fixture.test.query<{ content: string }>(
    'select content from messaging.export_parts where export_id = $1',
    [file!.id],
  );
  return part!.content;
}

describe('mails and events that are older than they are kept', () => {
  const both = { RETENTION_DELIVERIES_DAYS: '90', RETENTION_EVENTS_DAYS: '90' };

  it('are gone, and all figures of their campaign are what they were', async () => {
    await open(both);
    fixture.clock.advance(FOUR_MONTHS);
    const before = await figures();
    expect(before.links.map(({ clickers }) => clickers)).toEqual([2, 1]);
    expect(before.facts?.domains.length).toBeGreaterThan(0);
    expect(before.languages).toHaveLength(2);
    expect((await deliveriesShown()).totalElements).toBe(READERS);
    await letGo();
    expect(await rowsLeft()).toEqual({ deliveries: 0, engagement: 0, events: 0 });
    expect(await figures()).toEqual(before);
    expect(await deliveriesShown()).toEqual({ items: [], totalElements: 0, next: null });
    expect(await statisticsDiscrepancies(fixture.get(Database))).toEqual([]);
  });

  it('can be read from the archive into a table again, as the operating guide says', async () => {
    await open({ RETENTION_DELIVERIES_DAYS: '60', RETENTION_EVENTS_DAYS: '60' });
    fixture.clock.advance(FOUR_MONTHS);
    await letGo();
    const guide = await readFile(join(projectRoot(), 'docs/operations.md'), 'utf8');
    const [create, copy] = [...guide.matchAll(/--command "((?:create table|copy) archived .*)"/g)].map(
      ([, sql]) => sql!,
    );
    const files = (await readdir(directory)).filter((name) => name.endsWith('.csv.gz'));
    expect(files.map((name) => name.split('_20')[0])).toEqual(
      expect.arrayContaining(['deliveries', 'delivery_engagement', 'delivery_events']),
    );
    for (const file of files) {
      const csv = gunzipSync(await readFile(join(directory, file)));
      const { rows, table } = JSON.parse(
        await readFile(join(directory, file.replace('.csv.gz', '.json')), 'utf8'),
      );
      const columns = csv.toString().split('\n')[0]!;
      await fixture.test.query('drop table if exists archived');
      await fixture.test.query(create!.replace('$COLUMNS', columns).replace('$TABLE', table));
      await fixture.test.copyIn(copy!, csv);
      expect([file, await rowsOf('archived')]).toEqual([file, rows]);
    }
  });

  it('are in the archive: named columns, counted rows, a digest, and no address', async () => {
    await open(both);
    fixture.clock.advance(FOUR_MONTHS);
    await letGo();
    const files = await archived();
    expect(files.map(({ table, rows }) => [table, rows])).toEqual([
      ['messaging.deliveries', READERS],
      ['messaging.delivery_engagement', 5],
      ['messaging.delivery_events', 11],
    ]);
    for (const { columns, rows, bytes, sha256, content, lines } of files) {
      expect(lines).toHaveLength(rows + 1);
      expect(lines[0]).toBe(columns.join(','));
      expect(content).toHaveLength(bytes);
      expect(createHash('sha256').update(content).digest('hex')).toBe(sha256);
      for (const { address } of deliveries) expect(lines.join()).not.toContain(address);
    }
    expect(await waiting()).toEqual([]);
    await letGo();
    expect(await archived()).toEqual(files);
  });

  it('wait while the campaign is paused, and go when it has ended', async () => {
    await open(both);
    await fixture.test.query(`update messaging.campaigns set status = 'PAUSED'`);
    fixture.clock.advance(FOUR_MONTHS);
    await letGo();
    expect((await deliveriesShown()).totalElements).toBe(READERS);
    await fixture.test.query(`update messaging.campaigns set status = 'CANCELLED'`);
    await letGo();
    expect(await rowsLeft()).toEqual({ deliveries: 0, engagement: 0, events: 0 });
  });

  it('make a campaign that failed be sent no more, nor retried: nobody knows whom it has reached', async () => {
    await open(both);
    await fixture.test.query(
      `update messaging.deliveries set state = 'FAILED', reason = 'mailbox' where id = $1`,
      [deliveries[0]!.id],
    );
    fixture.clock.advance(FOUR_MONTHS);
    await fixture.test.query(
      `insert into platform.retention_horizons (kind, kept_from) values ('DELIVERIES', $1)`,
      [fixture.clock.now()],
    );
    const retried = await fixture.get(CampaignLifecycleService).retryFailed(scope, campaign.campaignKey);
    expect(retried.status).toBe('SENT');
    await fixture.test.query(`update messaging.campaigns set status = 'FAILED'`);
    const send = fixture.get(CampaignLifecycleService).send(scope, campaign.campaignKey);
    await expect(send).rejects.toMatchObject({ code: 'invalid-state' });
  });

  it('leave everything in its place when the worker dies between file and drop', async () => {
    await open(both);
    fixture.clock.advance(FOUR_MONTHS);
    const before = await figures();
    await fixture.test.query(`
      create function platform.die() returns event_trigger language plpgsql as $$ begin
        if exists (select 1 from pg_event_trigger_dropped_objects() where schema_name = 'retired') then
          perform pg_terminate_backend(pg_backend_pid());
        end if;
      end $$;
      create event trigger dies on sql_drop execute function platform.die()`);
    await expect(letGo()).rejects.toThrow('terminat');
    const [first] = await archived();
    expect(await waiting()).toEqual([first!.file.replace('.csv.gz', '')]);
    expect(await figures()).toEqual(before);
    await fixture.test.query('drop event trigger dies');
    await writeFile(join(directory, first!.file.replace('csv.gz', '1-2.part')), 'half a file');
    await letGo();
    expect(await waiting()).toEqual([]);
    expect((await archived()).map(({ rows }) => rows)).toEqual([READERS, 5, 11]);
    expect((await readdir(directory)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('stay when somebody sends the campaign again while they are about to go', async () => {
    await open(both);
    fixture.clock.advance(FOUR_MONTHS);
    const other = new pg.Client({ connectionString: fixture.test.adminUrl });
    await other.connect();
    try {
      await other.query(`begin; update messaging.campaigns set status = 'QUEUED_FOR_SENDING'`);
      const going = letGo();
      await eventually('it waits for the campaign', () => isWaitingForLock(fixture.test));
      await other.query('commit');
      await going;
      expect((await deliveriesShown()).totalElements).toBe(READERS);
      expect(await rowsOf('messaging.deliveries')).toBe(READERS);
    } finally {
      await other.end();
    }
  });

  it('are not what a younger campaign is compared with', async () => {
    await open(both);
    fixture.clock.advance(FOUR_MONTHS);
    const younger = await fixture.queuedAgain(scope, campaign);
    fixture.engine.wake();
    await fixture.settled('all are sent', ({ state }) => state === 'SENT');
    fixture.clock.advance(60 * 60_000);
    const compared = async () =>
      (await reportFacts(fixture.get(Database), scope, younger.id, {
        now: fixture.clock.now(),
        canTrack: true,
      }))!.history.map(({ counts }) => counts.uniqueOpens);
    expect(await compared()).toEqual([5]);
    await letGo();
    expect(await compared()).toEqual([]);
  });

  it('stay while somebody has the table locked, and nobody waits behind', async () => {
    await open(both);
    fixture.clock.advance(FOUR_MONTHS);
    const other = new pg.Client({ connectionString: fixture.test.adminUrl });
    await other.connect();
    try {
      await other.query('begin; select 1 from messaging.deliveries');
      await letGo();
      expect(await rowsLeft()).toEqual({ deliveries: READERS, engagement: 0, events: 0 });
      expect((await deliveriesShown()).totalElements).toBe(0);
      await other.query('commit');
      await letGo();
      expect(await rowsOf('messaging.deliveries')).toBe(0);
    } finally {
      await other.end();
    }
  });

  it('are archived once when two workers do it at the same time', async () => {
    await open(both);
    fixture.clock.advance(FOUR_MONTHS);
    const beside = await fixture.beside({ ...both, ARCHIVE_DIRECTORY: directory });
    try {
      await Promise.all([letGo(), beside.get(ApplyRetention).run()]);
    } finally {
      await beside.close();
    }
    await letGo();
    expect(await waiting()).toEqual([]);
    expect((await archived()).map(({ rows }) => rows)).toEqual([READERS, 5, 11]);
  });

  it('stay where the archive cannot be written', async () => {
    await open({ ...both, ARCHIVE_DIRECTORY: join(directory, 'is-not-there') });
    fixture.clock.advance(FOUR_MONTHS);
    await expect(letGo()).rejects.toThrow('ENOENT');
    expect((await deliveriesShown()).totalElements).toBe(READERS);
    expect(await rowsOf('messaging.deliveries')).toBe(READERS);
    expect(await waiting()).toEqual([]);
  });

  it('take their partitions with them, and leave no gap for those of the months to come', async () => {
    await open(both);
    const partitions = async () =>
      fixture.test.query<{ parent: string; count: number }>(
        `select inhparent::regclass::text as parent, count(*)::int as count from pg_inherits
         where inhparent in (select partrelid from pg_partitioned_table where partstrat = 'r') group by 1 order by 1`,
      );
    const before = await partitions();
    fixture.clock.advance(FOUR_MONTHS);
    await letGo();
    const after = await partitions();
    const fewer = after.filter(({ count }, place) => count < before[place]!.count);
    expect(fewer.map(({ parent }) => parent)).toEqual(
      before.map(({ parent }) => parent).filter((parent) => parent !== 'audience.consent_ledger'),
    );
    for (const { parent } of before)
      await fixture.test.query('select platform.ensure_months($1::regclass, now()::date)', [parent]);
    expect(await partitions()).toEqual(after);
  });

  it('leave room for what comes late, which goes with the next month', async () => {
    await open(both);
    fixture.clock.advance(FOUR_MONTHS);
    await letGo();
    const [person] = await fixture.test.query<{ id: string }>('select id from audience.subscribers limit 1');
    await fixture.test.query(
      `insert into audience.subscriber_events (id, environment_id, subscriber_id, name, properties, occurred_at, created_at)
       values (gen_random_uuid(), $1, $2, 'visited', '{}', now() - interval '1 year', now())`,
      [scope.environmentId, person!.id],
    );
    await letGo();
    expect(await rowsOf('audience.subscriber_events')).toBe(1);
    fixture.clock.advance(32 * DAY);
    await letGo();
    expect(await rowsOf('audience.subscriber_events')).toBe(0);
    expect((await archived()).map(({ table }) => table)).toContain('audience.subscriber_events');
  });

  it('can be unsubscribed from by the link in them, and nothing is counted', async () => {
    await open(both);
    const { id, address } = deliveries[20]!;
    const [mail] = await fixture.test.query<{ url: string }>(
      `select links->>'unsubscribe' as url from messaging.test_inbox_messages where delivery_id = $1`,
      [id],
    );
    fixture.clock.advance(FOUR_MONTHS);
    await letGo();
    const link = fixture.get(LinkTokens).verify(mail!.url.split('/u/')[1]!, 'unsubscribe')!;
    const before = await figures();
    const pages = fixture.get(MailPagesService);
    const [described] = await pages.describeMail(scope, link);
    expect(described).toMatchObject({ reader: { email: address }, topics: [{ name: 'News' }] });
    const { subscriberId } = described!.reader as { readonly subscriberId: string };
    const reader = { how: 'ONE_CLICK', ipAddress: null, userAgent: null } as const;
    await pages.unsubscribe(scope, link, 'topics', reader);
    const consents = await fixture.test.query(
      'select status from audience.consents where subscriber_id = $1',
      [subscriberId],
    );
    expect(consents).toEqual([{ status: 'UNSUBSCRIBED' }]);
    expect(await figures()).toEqual(before);
    await fixture.test.query('delete from audience.subscribers where id = $1', [subscriberId]);
    expect((await pages.describeMail(scope, link))[0]).toMatchObject({ reader: 'unknown' });
  });

  it('leave people who can be erased, and new mail that is sent', async () => {
    await open(both);
    fixture.clock.advance(FOUR_MONTHS);
    await letGo();
    const [person] = await fixture.test.query<{ id: string }>('select id from audience.subscribers limit 1');
    await fixture
      .get(Database)
      .transaction(scope, () =>
        fixture.get(MailPersonalDataService).erase(scope, { subscriberId: person!.id, addressDigest: '00' }),
      );
    await fixture.get(MailPagesService).unsubscribe(scope, { id: deliveries[0]!.id }, 'topics', {
      how: 'ONE_CLICK',
      ipAddress: null,
      userAgent: null,
    });
    await fixture.queuedAgain(scope, campaign);
    fixture.engine.wake();
    // The reader who complained gets no more.
    const sent = await fixture.settled('all are sent', ({ state }) => state === 'SENT');
    expect(sent).toHaveLength(READERS - 1);
  });
});

describe('events that are kept for a shorter time than their mails', () => {
  const eventsAlone = { RETENTION_EVENTS_DAYS: '60' };

  it('are gone, and all figures and the deliveries are what they were', async () => {
    await open(eventsAlone);
    fixture.clock.advance(FOUR_MONTHS);
    const [before, file] = [await figures(), await exported()];
    await letGo();
    expect(await rowsLeft()).toEqual({ deliveries: READERS, engagement: 7, events: 0 });
    expect(await figures()).toEqual(before);
    expect(await exported()).toBe(file);
    expect((await deliveriesShown()).totalElements).toBe(READERS);
    expect(await statisticsDiscrepancies(fixture.get(Database))).toEqual([]);
  });

  it('count once, though they come again when they are gone', async () => {
    await open(eventsAlone);
    fixture.clock.advance(FOUR_MONTHS);
    await letGo();
    const { statistics: before } = await figures();
    await fixture.unsubscribes(scope, deliveries[12]!.id);
    await fixture.get(DeliveryFeedbackService).complained(scope, deliveries[11]!.id);
    await fixture.get(DeliveryFeedbackService).bounced(scope, deliveries[10]!.id, 'mailbox');
    await looks(1, 'CLICKED', minuteLater());
    const { statistics } = await figures();
    expect(statistics).toEqual({
      ...before,
      totalOpened: before.totalOpened + 1,
      totalClicked: before.totalClicked + 1,
      lastUpdatedAt: statistics.lastUpdatedAt,
    });
  });
});

describe('a project whose mails and events are kept for a shorter time', () => {
  it('loses its own alone, in the month in which they are, and no figure', async () => {
    await open({});
    await anotherProject();
    const { projectId } = scope;
    await fixture.get(ProjectRetentionRepository).set(projectId, { deliveriesDays: 60, eventsDays: 30 });
    fixture.clock.advance(59 * DAY);
    const before = await figures();
    await letGo();
    expect(await rowsLeft()).toEqual({ deliveries: READERS + 5, engagement: 7, events: 0 });
    expect(await figures()).toEqual(before);
    fixture.clock.advance(3 * DAY);
    const later = await figures();
    await letGo();
    expect(await rowsLeft()).toEqual({ deliveries: 5, engagement: 0, events: 0 });
    expect(await figures()).toEqual(later);
    expect(await deliveriesShown()).toEqual({ items: [], totalElements: 0, next: null });
    expect(await statisticsDiscrepancies(fixture.get(Database))).toEqual([]);
    expect(await archived()).toEqual([]);
  });

  it('loses confirmations, test mails and events of people and programs too', async () => {
    await open({});
    await fixture.asksToConfirm(scope, 'new@example.com');
    fixture.engine.wake();
    await fixture.settled('all are sent', ({ state }) => state === 'SENT');
    await looks(5, 'OPENED', fixture.clock.now());
    expect(await rowsOf(`messaging.delivery_events where classification <> 'human'`)).toBe(1);
    const [person] = await fixture.test.query<{ id: string }>('select id from audience.subscribers limit 1');
    await fixture.test.query(
      `insert into audience.subscriber_events (id, environment_id, subscriber_id, name, properties, occurred_at, created_at)
       values (gen_random_uuid(), $1, $2, 'visited', '{}', now(), now())`,
      [scope.environmentId, person!.id],
    );
    await fixture
      .get(ProjectRetentionRepository)
      .set(scope.projectId, { deliveriesDays: 60, eventsDays: 60 });
    fixture.clock.advance(62 * DAY);
    await letGo();
    expect(await rowsLeft()).toEqual({ deliveries: 0, engagement: 0, events: 0 });
    expect(await rowsOf('audience.subscriber_events')).toBe(0);
  });
});
