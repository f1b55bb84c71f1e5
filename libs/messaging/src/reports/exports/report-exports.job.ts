import { LockMode } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import {
  Database,
  done,
  doneUnlessAborted,
  type JobContext,
  type JobResult,
  ResumableJob,
  Job,
} from '#platform';
import { sentCampaign } from '../../campaigns/campaign.repository.js';
import { masked } from '../../deliveries/delivery.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { CampaignStatisticsQuery } from '../statistics/campaign-statistics.query.js';
import { DELIVERIES_CSV_HEADER, deliveriesCsv, type DeliveryReportRow, statisticsCsv } from './report-csv.js';
import { ReportExport } from './report-export.schema.js';
import { exportDeliveries, exportReport, EXPORTS_CHANNEL } from './report-exports.service.js';

/** Rows of one part, some 1.5 MB: the worker, and then the api, holds no more of a file. */
const ROWS_A_PART = 5_000;

/** Behind all rows of an address: a cursor of version 0.2.0 is the address alone. */
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

interface Requested {
  readonly exportId: string;
}

interface RecipientRow extends DeliveryReportRow {
  /** The key of the address and the delivery's id. */
  readonly place: string;
  readonly email: string;
  readonly lastError: string | null;
}

/** Writes the files of reports, for which clients wait. */
@Injectable()
export class ReportExportsJob {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly statistics: CampaignStatisticsQuery,
  ) {}

  /** The campaign's statistics. Does nothing when the request, or its campaign, is gone or the file is made. */
  @Job(exportReport)
  async writeStatistics(scope: ProjectScope, { exportId }: Requested): Promise<JobResult> {
    const file = await lockPending(this.database, scope, exportId);
    if (file === null) return done;
    const campaign = await this.database
      .tables<MessagingTables>()
      .selectFrom('messaging.campaigns')
      .select('campaignKey')
      .where('id', '=', file.campaignId)
      .where('environmentId', '=', scope.environmentId)
      .where('deletedAt', 'is', null)
      .executeTakeFirst();
    if (campaign === undefined) return done;
    const content = statisticsCsv(await this.statistics.of(scope, campaign.campaignKey));
    file.advance({ cursor: null, isLast: true }, this.clock.now());
    await addPart(this.database, file, content);
    return done;
  }

  /**
   * The file with a row for each recipient, a part a transaction with the cursor beside it: memory stays flat, the client reads
   * while it is made, and a killed worker's file goes on where it stopped.
   */
  @ResumableJob(exportDeliveries)
  async writeDeliveries(
    scope: ProjectScope,
    { exportId }: Requested,
    { signal }: Pick<JobContext, 'signal'>,
  ): Promise<JobResult> {
    while (!signal.aborted && (await this.makePart(scope, exportId)));
    return doneUnlessAborted(signal);
  }

  /** Makes the next part; true while there is more. Writes nothing if another part was written, or somebody erased, meanwhile. */
  async makePart(scope: ProjectScope, exportId: string): Promise<boolean> {
    const next = await this.database.read(scope, { onReplica: true }, () => this.#next(scope, exportId));
    return this.database.transaction(scope, async () => {
      const file = await lockPending(this.database, scope, exportId);
      if (next === null || file === null) return false;
      if (file.parts !== next.part) return true;
      const header = next.part === 0 ? DELIVERIES_CSV_HEADER : '';
      const isLast = next.page.length < ROWS_A_PART;
      file.advance({ cursor: next.page.at(-1)?.place ?? null, isLast }, this.clock.now());
      await addPart(this.database, file, header + deliveriesCsv(next.page));
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
      .select(['campaignId', 'parts as part', 'cursor', 'isMasked'])
      .where('environmentId', '=', scope.environmentId)
      .where('id', '=', exportId)
      .where('state', '=', 'PENDING')
      .executeTakeFirst();
    if (file === undefined) return null;
    const campaign = await sentCampaign(this.database.tables(), scope, file.campaignId).executeTakeFirst();
    const page =
      campaign === undefined ? [] : await this.#recipientsAfter(scope, campaign, file.cursor ?? '');
    return { part: file.part, page: file.isMasked ? page.map(masked) : page };
  }

  /** Rows by address: in the order of the index of a campaign's deliveries. */
  async #recipientsAfter(
    { environmentId }: ProjectScope,
    { id, queuedOn }: { readonly id: string; readonly queuedOn: string },
    cursor: string,
  ): Promise<RecipientRow[]> {
    const tables = this.database.tables();
    const [addressKey, deliveryId = LAST_ID] = cursor.split(' ');
    // Else a small table would be read from its beginning for each recipient.
    await sql`set local enable_seqscan = off`.execute(tables);
    const { rows } = await sql<RecipientRow>`
      select d.address_key || ' ' || d.id as place, d.subscriber_id, d.address as email, d.state as status, d.reason,
        d.attempt as attempts, d.possible_duplicate, d.last_error, d.message_id, d.sent_at, d.bounced_at, d.bounce_type,
        coalesce(g.opens, 0) as opens, g.first_opened_at, coalesce(g.clicks, 0) as clicks, g.first_clicked_at,
        least(g.unsubscribed_at, (select min(e.occurred_at) from messaging.delivery_events e
          where e.campaign_id = d.source_id and e.delivery_id = d.id and e.environment_id = d.environment_id
            and e.type = 'UNSUBSCRIBED')) as unsubscribed_at,
        least(g.complained_at, (select min(e.occurred_at) from messaging.delivery_events e
          where e.campaign_id = d.source_id and e.delivery_id = d.id and e.environment_id = d.environment_id
            and e.type = 'COMPLAINED')) as complained_at,
        d.locale
      from messaging.deliveries d
      left join lateral (
        select * from messaging.delivery_engagement g
        where g.delivery_id = d.id and g.environment_id = d.environment_id and g.queued_on = ${queuedOn}::date
      ) g on true
      where d.source_id = ${id} and d.environment_id = ${environmentId} and d.queued_on = ${queuedOn}::date
        and d.kind = 'CAMPAIGN' and (d.address_key, d.id) > (${addressKey}, ${deliveryId}::uuid)
      order by d.address_key, d.id limit ${ROWS_A_PART}
    `.execute(tables);
    return rows;
  }
}

/** The export that is to be made, kept from other workers; null when it is gone or made. */
function lockPending(
  { em }: Database,
  { environmentId }: ProjectScope,
  id: string,
): Promise<ReportExport | null> {
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  return em.findOne(ReportExport, { environmentId, id, state: 'PENDING' }, { lockMode });
}

/** Writes the part to which the file has advanced, and notifies the client. */
async function addPart(
  database: Database,
  { id: exportId, parts, environmentId }: ReportExport,
  content: string,
): Promise<void> {
  await database
    .tables<MessagingTables>()
    .insertInto('messaging.export_parts')
    .values({ exportId, part: parts - 1, environmentId, content })
    .execute();
  database.notify(EXPORTS_CHANNEL, exportId);
}
