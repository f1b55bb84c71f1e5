import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { type ExportSource, ExportsQuery, plainSource, SubscriberRulesService } from '#audience';
import { Clock, newId, type ProjectScope } from '#kernel';
import { Database, done, doneUnlessAborted, type JobContext, type JobResult, ResumableJob } from '#platform';
import { type Addressed, masked } from '../../deliveries/delivery.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { type DataExport, FILE_KEPT_MS } from './data-export.js';
import { exportData } from './data-exports.service.js';
import { DELIVERY_COLUMNS, toCsv, toImportableCsv } from './report-csv.js';

/** Rows of one part, some 1 MB: the worker, and then the api, holds no more of a file. */
const ROWS_A_PART = 5_000;

type Row = Readonly<Record<string, unknown>>;

/** Writes the files of exports. */
@Injectable()
export class DataExportsJob {
  constructor(
    private readonly database: Database,
    private readonly sources: ExportsQuery,
    private readonly rules: SubscriberRulesService,
    private readonly clock: Clock,
  ) {}

  /**
   * One statement reads all rows, so that the file shows one moment; parts are written as they come. A killed worker's snapshot is
   * gone with it: the next run begins anew, and what the one before had written is removed.
   */
  @ResumableJob(exportData)
  async write(
    scope: ProjectScope,
    { exportId }: { readonly exportId: string },
    { signal }: Pick<JobContext, 'signal'>,
  ): Promise<JobResult> {
    const order = await this.#begin(scope, exportId);
    if (order === null) return done;
    const fault = await this.#segmentFault(scope, order);
    if (fault !== null) {
      await this.#end(scope, order, { status: 'FAILED', updatedAt: this.clock.now(), failureReason: fault });
      return done;
    }
    const source = await this.#sourceOf(scope, order);
    const textOf = writerOf(order, source);
    let part = 0;
    for await (const rows of this.database.snapshot(scope, source.statement, ROWS_A_PART)) {
      if (signal.aborted) return doneUnlessAborted(signal);
      const content = textOf(
        order.isMasked ? rows.map((row) => masked(row as Row & Addressed)) : rows,
        part === 0,
      );
      if (!(await this.#add(scope, order, { part, rows: rows.length, content }))) return done;
      part += 1;
    }
    // A file without rows has its header.
    if (part === 0) await this.#add(scope, order, { part, rows: 0, content: textOf([], true) });
    const updatedAt = this.clock.now();
    const expiresAt = new Date(updatedAt.getTime() + FILE_KEPT_MS);
    await this.#end(scope, order, { status: 'COMPLETED', updatedAt, expiresAt });
    return done;
  }

  /** Begins a run, without what another has left; null when the file is made, or the export is gone. */
  #begin(scope: ProjectScope, id: string): Promise<DataExport | null> {
    return this.database.transaction(scope, async () => {
      const tables = this.database.tables<MessagingTables>();
      const begun = await tables
        .updateTable('messaging.data_exports')
        .set({ status: 'IN_PROGRESS', run: newId(), parts: 0, rows: 0, updatedAt: this.clock.now() })
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', id)
        .where('status', 'in', ['QUEUED', 'IN_PROGRESS'])
        .returningAll()
        .executeTakeFirst();
      await tables
        .deleteFrom('messaging.data_export_parts')
        .where('environmentId', '=', scope.environmentId)
        .where('exportId', '=', id)
        .execute();
      return begun ?? null;
    });
  }

  /** Adds a part; false when another run has taken over. */
  #add(
    scope: ProjectScope,
    { id, run }: DataExport,
    { part, rows, content }: { readonly part: number; readonly rows: number; readonly content: string },
  ): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const tables = this.database.tables<MessagingTables>();
      const { numUpdatedRows } = await tables
        .updateTable('messaging.data_exports')
        .set((eb) => ({ parts: part + 1, rows: eb('rows', '+', rows), updatedAt: this.clock.now() }))
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', id)
        .where('run', '=', run)
        .where('status', '=', 'IN_PROGRESS')
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return false;
      await tables
        .insertInto('messaging.data_export_parts')
        .values({ exportId: id, environmentId: scope.environmentId, run: run!, part, content })
        .execute();
      return true;
    });
  }

  async #end(
    scope: ProjectScope,
    { id, run }: DataExport,
    ended: Pick<DataExport, 'status' | 'updatedAt'> &
      Partial<Pick<DataExport, 'failureReason' | 'expiresAt'>>,
  ): Promise<void> {
    await this.database.transaction(scope, () =>
      this.database
        .tables<MessagingTables>()
        .updateTable('messaging.data_exports')
        .set(ended)
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', id)
        .where('run', '=', run)
        .where('status', '=', 'IN_PROGRESS')
        .execute(),
    );
  }

  /** The reason why nobody would be in the segment, rather than its members; null when there is none. */
  async #segmentFault(scope: ProjectScope, { segmentId }: DataExport): Promise<string | null> {
    if (segmentId === null) return null;
    const [fault] = await this.rules.faultsOf(scope, [segmentId]);
    return fault === undefined ? null : `The rules of the segment are no longer valid: ${fault.fault}`;
  }

  async #sourceOf(scope: ProjectScope, { what, segmentId }: DataExport): Promise<ExportSource> {
    if (what !== 'DELIVERIES') return this.sources.source(scope, what, segmentId);
    const members = segmentId === null ? null : await this.sources.members(scope, segmentId);
    return deliveries(scope, members);
  }
}

/** Writes rows as text; the first part of CSV begins with the header. */
function writerOf(
  { format }: DataExport,
  { columns, cellsOf, isImportable }: ExportSource,
): (rows: readonly Row[], isFirst: boolean) => string {
  if (format === 'NDJSON') return (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const csv = isImportable ? toImportableCsv : toCsv;
  return (rows, isFirst) =>
    csv([...(isFirst ? [columns] : []), ...(rows.map(cellsOf) as Parameters<typeof toCsv>[0])]);
}

/** Mails of campaigns and automations, oldest first. `areMembers`: only to subscribers `b` of whom it holds. */
function deliveries({ environmentId }: ProjectScope, areMembers: RawBuilder<boolean> | null): ExportSource {
  const toMembers = sql`exists (
    select 1 from audience.subscribers b where b.environment_id = ${environmentId} and b.id = d.subscriber_id and ${areMembers}
  )`;
  const firstOf = (type: string, isTheirs: RawBuilder<unknown>) => sql`(
    select min(e.occurred_at) from messaging.delivery_events e
    where e.environment_id = d.environment_id and e.delivery_id = d.id and e.type = ${sql.lit(type)} and ${isTheirs}
  )`;
  const first = (type: string) => sql`least(
    ${firstOf(type, sql`e.campaign_id = d.source_id`)}, ${firstOf(type, sql`e.campaign_id is null and d.kind = 'AUTOMATION'`)}
  )`;
  return plainSource(
    ['id', 'kind', 'campaignKey', 'automationKey', ...DELIVERY_COLUMNS],
    sql`
      select d.id, d.kind, c.campaign_key, a.automation_key, d.subscriber_id, d.address as email, d.state as status, d.reason,
        d.attempt as attempts, d.possible_duplicate, d.last_error, d.message_id, d.sent_at, d.bounced_at, d.bounce_type,
        coalesce(g.opens, 0) as opens, g.first_opened_at, coalesce(g.clicks, 0) as clicks, g.first_clicked_at,
        least(g.unsubscribed_at, ${first('UNSUBSCRIBED')}) as unsubscribed_at,
        least(g.complained_at, ${first('COMPLAINED')}) as complained_at, d.locale
      from messaging.deliveries d
      left join messaging.campaigns c
        on d.kind = 'CAMPAIGN' and c.environment_id = d.environment_id and c.id = d.source_id
      left join messaging.automation_runs r
        on d.kind = 'AUTOMATION' and r.environment_id = d.environment_id and r.id = messaging.run_of_step(d.source_id)
      left join messaging.automations a on a.environment_id = r.environment_id and a.number = r.automation_number
      left join messaging.delivery_engagement g
        on g.environment_id = d.environment_id and g.delivery_id = d.id and g.queued_on = d.queued_on
      where d.environment_id = ${environmentId} and d.kind in ('CAMPAIGN', 'AUTOMATION')
        and ${areMembers === null ? sql`true` : toMembers}
      order by d.queued_on, d.id
    `,
  );
}
