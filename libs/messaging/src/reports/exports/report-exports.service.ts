import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, newId, NotFoundError, type ProjectScope, UnavailableError } from '#kernel';
import {
  before,
  Database,
  enqueue,
  jobType,
  Notifications,
  Periodic,
  removeOldRows,
  waitForWorker,
} from '#platform';
import { campaignNamed } from '../../campaigns/campaign.repository.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { ReportExport, type ReportExportState } from './report-export.schema.js';

/** Writes the file of a campaign's statistics, for which a client waits. */
export const exportReport = jobType<{ exportId: string }>('exports.report', 'exports');

/** Writes the file with a row for each recipient, in parts, for which a client waits. */
export const exportDeliveries = jobType<{ exportId: string }>('exports.deliveries', 'exports');

/** Channel on which waiting clients hear that there is more of their export; the payload is its id. */
export const EXPORTS_CHANNEL = 'mailwright_exports';

const RETRY_AFTER_SECONDS = 5;

type WantedFile = Pick<ReportExport, 'kind' | 'isMasked'>;

interface Progress {
  /** `GONE` when the campaign was deleted meanwhile. */
  readonly state: ReportExportState | 'GONE';
  /** Number of parts that can be taken. */
  readonly parts: number;
}

/** Has the worker make a campaign's report file and waits for it, within bounds. */
@Injectable()
export class ReportExportsService {
  constructor(
    private readonly database: Database,
    private readonly notifications: Notifications,
    private readonly clock: Clock,
  ) {}

  /**
   * The report as CSV. `NotFoundError` without such a campaign, or when it is deleted before the report is made;
   * `UnavailableError` when no worker made it in time: it is kept then, and the next request takes it.
   */
  async statistics(scope: ProjectScope, campaignKey: string): Promise<string> {
    const id = await this.#request(scope, campaignKey, { kind: 'STATISTICS', isMasked: false });
    await this.#reached(scope, id, ({ state }) => state === 'DONE');
    const content = await this.#part(scope, id, 0);
    await this.#taken(scope, id);
    return content;
  }

  /**
   * The report with a row for each recipient, part by part while the worker makes it, masked without `showsAddresses`. Errors as of `statistics`, until
   * the first part is there; after that the sequence throws `UnavailableError` when no further one comes in time.
   */
  async deliveries(
    scope: ProjectScope,
    campaignKey: string,
    showsAddresses = true,
  ): Promise<AsyncIterable<string>> {
    const id = await this.#request(scope, campaignKey, { kind: 'DELIVERIES', isMasked: !showsAddresses });
    await this.#reached(scope, id, ({ parts }) => parts > 0);
    return this.#parts(scope, id);
  }

  async *#parts(scope: ProjectScope, id: string): AsyncGenerator<string> {
    for (let part = 0; ; part += 1) {
      const isReached = (progress: Progress) => progress.parts > part || progress.state === 'DONE';
      const { parts } = await this.#reached(scope, id, isReached);
      if (parts <= part) break;
      yield await this.#part(scope, id, part);
    }
    await this.#taken(scope, id);
  }

  /** An export that nobody took yet is waited for again, rather than made twice. */
  #request(scope: ProjectScope, campaignKey: string, wanted: WantedFile): Promise<string> {
    return this.database.transaction(scope, async () => {
      const tables = this.database.tables<MessagingTables>();
      const { id: campaignId } = await campaignNamed(tables, scope, campaignKey)
        .select('id')
        .forShare()
        .executeTakeFirstOrThrow(() => new NotFoundError());
      const pending = await tables
        .selectFrom('messaging.exports')
        .select('id')
        .where('environmentId', '=', scope.environmentId)
        .where('campaignId', '=', campaignId)
        .where('kind', '=', wanted.kind)
        .where('isMasked', '=', wanted.isMasked)
        .where('state', '=', 'PENDING')
        .where('takenAt', 'is', null)
        .limit(1)
        .executeTakeFirst();
      return pending?.id ?? this.#add(scope, campaignId, wanted);
    });
  }

  async #add(scope: ProjectScope, campaignId: string, wanted: WantedFile): Promise<string> {
    const id = newId();
    const { environmentId } = scope;
    const file = new ReportExport({ id, environmentId, campaignId, ...wanted }, this.clock.now());
    this.database.em.persist(file);
    const Requested = wanted.kind === 'STATISTICS' ? exportReport : exportDeliveries;
    await enqueue(this.database, scope, Requested({ exportId: id }));
    return id;
  }

  /** Waits, within bounds, until the export is as far as asked. */
  async #reached(
    scope: ProjectScope,
    id: string,
    isReached: (progress: Progress) => boolean,
  ): Promise<Progress> {
    const progress = await waitForWorker(this.notifications, {
      channel: EXPORTS_CHANNEL,
      id,
      look: () => this.#progress(scope, id),
      isOver: (found) => isReached(found) || found.state === 'GONE',
    });
    if (progress?.state === 'GONE') throw new NotFoundError();
    if (progress !== null) return progress;
    throw new UnavailableError('No worker made the export in time.', RETRY_AFTER_SECONDS);
  }

  #progress(scope: ProjectScope, id: string): Promise<Progress> {
    return this.database.transaction(scope, async () => {
      const progress = await this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.exports as e')
        .innerJoin('messaging.campaigns as c', (join) =>
          join.onRef('c.id', '=', 'e.campaignId').onRef('c.environmentId', '=', 'e.environmentId'),
        )
        .select(['e.state', 'e.parts'])
        .where('e.environmentId', '=', scope.environmentId)
        .where('e.id', '=', id)
        .where('c.deletedAt', 'is', null)
        .executeTakeFirst();
      return progress ?? { state: 'GONE', parts: 0 };
    });
  }

  #part(scope: ProjectScope, id: string, part: number): Promise<string> {
    return this.database.transaction(scope, async () => {
      const row = await this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.export_parts')
        .select('content')
        .where('environmentId', '=', scope.environmentId)
        .where('exportId', '=', id)
        .where('part', '=', part)
        .executeTakeFirst();
      // Removed as too old while a very slow client was reading.
      if (row === undefined) throw new UnavailableError('The export has expired.', RETRY_AFTER_SECONDS);
      return row.content;
    });
  }

  async #taken(scope: ProjectScope, id: string): Promise<void> {
    await this.database.transaction(scope, () =>
      this.database
        .tables<MessagingTables>()
        .updateTable('messaging.exports')
        .set({ takenAt: this.clock.now() })
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', id)
        .execute(),
    );
  }

  /** Removes report files after an hour: the client that waited for them does no longer. */
  @Periodic('remove-old-exports', { everyMs: 10 * 60_000 })
  removeOld(): Promise<void> {
    const where = sql`created_at < ${before(this.clock.now(), 60 * 60_000)}`;
    return removeOldRows(this.database, { table: 'messaging.exports', where });
  }
}

/** Empties the files, finished or not, with deliveries of `which`, and their cursors. A client that waits for one asks again. */
export async function eraseExports(
  database: Database,
  { environmentId }: ProjectScope,
  which: ReturnType<typeof sql>,
  now: Date,
): Promise<void> {
  const tables = database.tables();
  const { rows } = await sql<{ id: string }>`
    update messaging.exports e
    set cursor = null, taken_at = coalesce(e.taken_at, ${now}),
      state = case when e.state = 'PENDING' then 'FAILED' else e.state end
    where e.environment_id = ${environmentId} and e.kind = 'DELIVERIES' and e.campaign_id in (
      select d.source_id from messaging.deliveries d
      where d.environment_id = ${environmentId} and d.kind = 'CAMPAIGN' and ${which}
    )
    returning e.id
  `.execute(tables);
  // A second statement: the first may have waited for a part that was being written, and would not see it.
  await sql`
    delete from messaging.export_parts
    where environment_id = ${environmentId} and export_id = any(${rows.map(({ id }) => id)}::uuid[])
  `.execute(tables);
}
