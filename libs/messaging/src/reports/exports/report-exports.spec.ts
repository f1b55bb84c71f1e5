import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { eventually } from '#testing/time/eventually';
import { isWaitingForLock } from '#testing/postgres/lock-waits';
import type { Campaign } from '../../campaigns/campaign.js';
import { CampaignsService } from '../../campaigns/campaigns.service.js';
import { MessagingFixture } from '../../messaging.fixture.js';
import { CampaignStatisticsQuery } from '../statistics/campaign-statistics.query.js';
import { ReportExportsJob } from './report-exports.job.js';
import { eraseExports, ReportExportsService } from './report-exports.service.js';

const ROWS = Number(process.env['EXPORT_ROWS'] ?? 12_000);
/** Bound on the size of a part of 5 000 rows, with some room. */
const LARGEST_PART = 4 * 1024 * 1024;

/** No cell of these rows holds a line break. */
const linesOf = (csv: string): string[] => csv.split('\r\n').slice(0, -1);

describe('the export with a row for each recipient', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;
  let campaign: Campaign;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
    scope = await fixture.scope();
    campaign = await fixture.queuedCampaign(scope, 1);
    await fixture.test.query(
      `insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key,
         message_id, state, last_error, next_attempt_at, sent_at, created_at, finished_at)
       select platform.new_id(), d.queued_on, d.environment_id, 'CAMPAIGN', d.source_id, platform.new_id(),
         '+r' || n || '@example.com', '+r' || n || '@example.com', '<' || n || '@example.com>', 'SENT', '=1+1, "quoted"', now(),
         now(), now(), now()
       from messaging.deliveries d, generate_series(2, $1::int) n`,
      [ROWS],
    );
  });
  afterAll(async () => {
    await fixture?.close();
  });

  const openExports = () =>
    fixture.test.query<{ id: string; parts: number }>(
      `select id, parts from messaging.exports where state = 'PENDING' and taken_at is null`,
    );

  const exporter = () => fixture.get(ReportExportsJob);

  /** Makes the open exports as a worker would, from where they stand. */
  async function makeOpen(): Promise<void> {
    const { signal } = new AbortController();
    for (const { id } of await openExports())
      await exporter().writeDeliveries(scope, { exportId: id }, { signal });
  }

  const requested = () =>
    eventually('the export is asked for', async () => (await openExports()).at(-1)?.id ?? null);

  const waitsForLock = () => eventually('one waits for the other', () => isWaitingForLock(fixture.test));

  /** Does something to an export that is asked for, beside the open transaction of `other`, and finds no part of it then. */
  async function leavingNoPart(work: (id: string, other: pg.Client) => Promise<void>): Promise<void> {
    const asked = fixture.get(ReportExportsService).deliveries(scope, campaign.campaignKey);
    asked.catch(() => undefined);
    const id = await requested();
    const other = new pg.Client({ connectionString: fixture.test.adminUrl });
    await other.connect();
    try {
      await other.query('begin');
      await work(id, other);
    } finally {
      await other.end();
    }
    expect(
      await fixture.test.query('select 1 from messaging.export_parts where export_id = $1', [id]),
    ).toEqual([]);
    await fixture.test.query(`delete from messaging.exports where id = $1`, [id]);
    // It ends as it finds the export: gone, or a part further just before.
    await asked.catch((error: unknown) => expect(error).toBeInstanceOf(NotFoundError));
  }

  it('comes in parts while it is made, and goes on where a worker stopped', async () => {
    const asked = fixture.get(ReportExportsService).deliveries(scope, campaign.campaignKey);
    await exporter().makePart(scope, await requested());
    expect(await openExports()).toMatchObject([{ parts: 1 }]);
    const parts = await asked;
    const made = makeOpen();
    let [rows, largest, header] = [0, 0, ''];
    for await (const part of parts) {
      const lines = linesOf(part);
      if (rows === 0) header = lines.shift() ?? '';
      rows += lines.length;
      largest = Math.max(largest, part.length);
      expect(part.endsWith('\r\n')).toBe(true);
    }
    await made;
    expect(header).toMatch(/^subscriberId,email,status,/);
    expect(rows).toBe(ROWS);
    expect(largest).toBeLessThan(LARGEST_PART);
  });

  it('makes formulas harmless, and names every recipient once', async () => {
    const asked = fixture.get(ReportExportsService).deliveries(scope, campaign.campaignKey);
    await requested();
    await makeOpen();
    const emails = new Set<string>();
    for await (const part of await asked) {
      for (const line of linesOf(part)) emails.add(line.split(',')[1] ?? '');
      expect(part).not.toMatch(/(?:^|,)"?[=+@-]/m);
    }
    expect(emails.size).toBe(ROWS + 1);
  });

  it.each([
    ['somebody was erased meanwhile', `state = 'FAILED', taken_at = now()`, false],
    ['another worker has written it', 'parts = parts + 1', true],
  ])('writes no part that it has read when %s', (_, change, hasMore) =>
    leavingNoPart(async (id, other) => {
      await other.query('select 1 from messaging.exports where id = $1 for update', [id]);
      const made = exporter().makePart(scope, id);
      await waitsForLock();
      await other.query(`update messaging.exports set ${change} where id = $1`, [id]);
      await other.query('commit');
      expect(await made).toBe(hasMore);
    }),
  );

  it('loses the part that is being written as somebody is erased', () =>
    leavingNoPart(async (id, writer) => {
      await writer.query('update messaging.exports set parts = 1 where id = $1', [id]);
      await writer.query(
        `insert into messaging.export_parts (export_id, part, environment_id, content) values ($1, 0, $2, 'erin@example.com')`,
        [id, scope.environmentId],
      );
      const database = fixture.get(Database);
      const erased = database.transaction(scope, () => eraseExports(database, scope, sql`true`, new Date()));
      await waitsForLock();
      await writer.query('commit');
      await erased;
    }));

  it.each(['deliveries', 'statistics'] as const)(
    'is not found, rather than waited for in vain, when its campaign is deleted meanwhile: %s',
    async (kind) => {
      const own = await fixture.scope();
      const draft = await fixture.draft(own, 1);
      const asked = fixture.get(ReportExportsService)[kind](own, draft.campaignKey);
      asked.catch(() => undefined);
      await requested();
      await fixture.get(CampaignsService).remove(own, draft.campaignKey);
      await expect(asked).rejects.toThrow(NotFoundError);
    },
  );

  it.each(['deliveries', 'statistics'] as const)(
    'is not found either when the deleted campaign was sent, which keeps its rows: %s',
    async (kind) => {
      const own = await fixture.scope();
      const sent = await fixture.queuedCampaign(own, 1);
      const asked = fixture.get(ReportExportsService)[kind](own, sent.campaignKey);
      asked.catch(() => undefined);
      const id = await requested();
      await fixture.test.query('update messaging.campaigns set deleted_at = now() where id = $1', [sent.id]);
      const database = fixture.get(Database);
      const job = new ReportExportsJob(database, fixture.clock, fixture.get(CampaignStatisticsQuery));
      await database.transaction(own, () => job.writeStatistics(own, { exportId: id }));
      await expect(asked).rejects.toThrow(NotFoundError);
    },
  );
});
