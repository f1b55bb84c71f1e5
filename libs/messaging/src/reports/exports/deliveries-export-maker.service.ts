import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import { DELIVERIES_CSV_HEADER, deliveriesCsv, type DeliveryReportRow } from './deliveries-csv.js';
import { EXPORTS_CHANNEL } from './report-export-maker.service.js';

/** Some 1.5 MB: what the worker, and then the api, holds of a file. */
const ROWS_A_PART = 5_000;

interface OpenExport {
  readonly campaign_id: string;
  readonly queued_on: string | null;
  readonly cursor: string | null;
  readonly parts: number;
}

/**
 * Makes files with a row for each recipient, a part a transaction with the cursor beside it: memory stays flat, the
 * client reads while it is made, and a killed worker's file goes on where it stopped.
 */
@Injectable()
export class DeliveriesExportMaker {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Resolves when the file is made, is gone, or `signal` says stop. */
  async make(scope: ProjectScope, exportId: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.makePart(scope, exportId)));
  }

  /** The next part; true while there is more. */
  makePart(scope: ProjectScope, exportId: string): Promise<boolean> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<OpenExport>`
        select e.campaign_id, (c.queued_at at time zone 'UTC')::date as queued_on, e.cursor, e.parts
        from messaging.exports e join messaging.campaigns c on c.id = e.campaign_id
        where e.environment_id = ${scope.environmentId} and e.id = ${exportId} and e.state = 'PENDING'
        for update of e
      `.execute(db);
      const [open] = rows;
      if (open === undefined) return false;
      const page = await recipientsAfter(scope, db, open);
      const isLast = page.length < ROWS_A_PART;
      const header = open.parts === 0 ? DELIVERIES_CSV_HEADER : '';
      await sql`
        insert into messaging.export_parts (export_id, part, environment_id, content)
        values (${exportId}, ${open.parts}, ${scope.environmentId}, ${header + deliveriesCsv(page)})
      `.execute(db);
      await sql`
        update messaging.exports set parts = parts + 1, cursor = coalesce(${page.at(-1)?.addressKey ?? null}, cursor),
          state = ${isLast ? 'DONE' : 'PENDING'}, finished_at = ${isLast ? this.clock.now() : null}
        where id = ${exportId}
      `.execute(db);
      await sql`select pg_notify(${EXPORTS_CHANNEL}, ${exportId})`.execute(db);
      return !isLast;
    });
  }
}

/** By address, which is how the index of a campaign's deliveries is ordered. */
async function recipientsAfter(
  { environmentId }: ProjectScope,
  db: Sql,
  { campaign_id, queued_on, cursor }: OpenExport,
): Promise<(DeliveryReportRow & { readonly addressKey: string })[]> {
  if (queued_on === null) return [];
  // For each recipient a small table would be read from its beginning.
  await sql`set local enable_seqscan = off`.execute(db);
  const { rows } = await sql<DeliveryReportRow & { readonly addressKey: string }>`
    select d.address_key as "addressKey", d.subscriber_id as "subscriberId", d.address as email, d.state as status, d.reason,
      d.attempt as attempts, d.possible_duplicate as "possibleDuplicate", d.last_error as "lastError",
      d.message_id as "messageId", d.sent_at as "sentAt", d.bounced_at as "bouncedAt", d.bounce_type as "bounceType",
      coalesce(g.opens, 0) as opens, g.first_opened_at as "firstOpenedAt", coalesce(g.clicks, 0) as clicks,
      g.first_clicked_at as "firstClickedAt",
      (select min(e.occurred_at) from messaging.delivery_events e
       where e.campaign_id = d.source_id and e.delivery_id = d.id and e.type = 'UNSUBSCRIBED') as "unsubscribedAt",
      (select min(e.occurred_at) from messaging.delivery_events e
       where e.campaign_id = d.source_id and e.delivery_id = d.id and e.type = 'COMPLAINED') as "complainedAt"
    from messaging.deliveries d
    left join lateral (
      select * from messaging.delivery_engagement g
      where g.delivery_id = d.id and g.queued_on = ${queued_on}::date offset 0
    ) g on true
    where d.source_id = ${campaign_id} and d.environment_id = ${environmentId} and d.queued_on = ${queued_on}::date
      and d.kind = 'CAMPAIGN' and d.address_key > ${cursor ?? ''}
    order by d.address_key limit ${ROWS_A_PART}
  `.execute(db);
  await sql`set local enable_seqscan to default`.execute(db);
  return rows;
}
