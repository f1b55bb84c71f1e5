import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { sentCampaign } from '../../campaigns/campaign.repository.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { DELIVERIES_CSV_HEADER, deliveriesCsv, type DeliveryReportRow } from './deliveries-csv.js';
import { ReportExportRepository } from './report-export.repository.js';

/** Some 1.5 MB: what the worker, and then the api, holds of a file. */
const ROWS_A_PART = 5_000;

interface RecipientRow extends DeliveryReportRow {
  readonly addressKey: string;
}

/**
 * Makes files with a row for each recipient, a part a transaction with the cursor beside it: memory stays flat, the
 * client reads while it is made, and a killed worker's file goes on where it stopped.
 */
@Injectable()
export class DeliveriesExportMaker {
  constructor(
    private readonly database: Database,
    private readonly exports: ReportExportRepository,
  ) {}

  /** Resolves when the file is made, is gone, or `signal` says stop. */
  async make(scope: ProjectScope, exportId: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.makePart(scope, exportId)));
  }

  /** The next part; true while there is more. What is read is written only where nothing was, and nobody was erased, meanwhile. */
  async makePart(scope: ProjectScope, exportId: string): Promise<boolean> {
    const next = await this.database.replicaRead(scope, () => this.#next(scope, exportId));
    return this.database.transaction(scope, async () => {
      const file = await this.exports.lockPending(scope, exportId);
      if (next === null || file === null) return false;
      if (file.parts !== next.part) return true;
      const header = next.part === 0 ? DELIVERIES_CSV_HEADER : '';
      const isLast = next.page.length < ROWS_A_PART;
      const cursor = next.page.at(-1)?.addressKey ?? null;
      await this.exports.addPart(file, header + deliveriesCsv(next.page), { cursor, isLast });
      return !isLast;
    });
  }

  /** Null when the file is made or gone. */
  async #next(
    scope: ProjectScope,
    exportId: string,
  ): Promise<{ readonly part: number; readonly page: readonly RecipientRow[] } | null> {
    const file = await this.database
      .tables<MessagingTables>()
      .selectFrom('messaging.exports')
      .select(['campaignId', 'parts as part', 'cursor'])
      .where('environmentId', '=', scope.environmentId)
      .where('id', '=', exportId)
      .where('state', '=', 'PENDING')
      .executeTakeFirst();
    if (file === undefined) return null;
    const campaign = await sentCampaign(this.database.tables(), scope, file.campaignId).executeTakeFirst();
    const page =
      campaign === undefined ? [] : await this.#recipientsAfter(scope, campaign, file.cursor ?? '');
    return { part: file.part, page };
  }

  /** By address, which is how the index of a campaign's deliveries is ordered. */
  async #recipientsAfter(
    { environmentId }: ProjectScope,
    { id, queuedOn }: { readonly id: string; readonly queuedOn: string },
    cursor: string,
  ): Promise<RecipientRow[]> {
    const tables = this.database.tables();
    // For each recipient a small table would be read from its beginning.
    await sql`set local enable_seqscan = off`.execute(tables);
    const { rows } = await sql<RecipientRow>`
      select d.address_key, d.subscriber_id, d.address as email, d.state as status, d.reason,
        d.attempt as attempts, d.possible_duplicate, d.last_error, d.message_id, d.sent_at, d.bounced_at, d.bounce_type,
        coalesce(g.opens, 0) as opens, g.first_opened_at, coalesce(g.clicks, 0) as clicks, g.first_clicked_at,
        least(g.unsubscribed_at, (select min(e.occurred_at) from messaging.delivery_events e
         where e.campaign_id = d.source_id and e.delivery_id = d.id and e.environment_id = d.environment_id and e.type = 'UNSUBSCRIBED')) as unsubscribed_at,
        least(g.complained_at, (select min(e.occurred_at) from messaging.delivery_events e
         where e.campaign_id = d.source_id and e.delivery_id = d.id and e.environment_id = d.environment_id and e.type = 'COMPLAINED')) as complained_at, d.locale
      from messaging.deliveries d
      left join lateral (
        select * from messaging.delivery_engagement g
        where g.delivery_id = d.id and g.environment_id = d.environment_id and g.queued_on = ${queuedOn}::date
      ) g on true
      where d.source_id = ${id} and d.environment_id = ${environmentId} and d.queued_on = ${queuedOn}::date
        and d.kind = 'CAMPAIGN' and d.address_key > ${cursor}
      order by d.address_key limit ${ROWS_A_PART}
    `.execute(tables);
    return rows;
  }
}
