import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import type { Transaction } from '#platform';
import { CampaignStatisticsQuery } from '../statistics/campaign-statistics.query.js';
import { statisticsCsv } from './report-csv.js';

/** NOTIFY channel on which waiting clients hear that their export is made; the payload is its id. */
export const EXPORTS_CHANNEL = 'mailwright_exports';

/** Makes report files. */
@Injectable()
export class ReportExportMaker {
  constructor(
    @Inject(CampaignStatisticsQuery) private readonly statistics: CampaignStatisticsQuery,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Makes the file of one request, in the caller's transaction; nothing to do when it is gone or made. */
  async make(scope: ProjectScope, { db }: Transaction, exportId: string): Promise<void> {
    const { rows } = await sql<{ campaign_key: string }>`
      select c.campaign_key from messaging.exports e join messaging.campaigns c on c.id = e.campaign_id
      where e.environment_id = ${scope.environmentId} and e.id = ${exportId} and e.state = 'PENDING' and c.deleted_at is null
    `.execute(db);
    const campaignKey = rows[0]?.campaign_key;
    if (campaignKey === undefined) return;
    const content = statisticsCsv(await this.statistics.of(scope, campaignKey));
    await sql`
      insert into messaging.export_parts (export_id, part, environment_id, content)
      values (${exportId}, 0, ${scope.environmentId}, ${content})
    `.execute(db);
    await sql`update messaging.exports set state = 'DONE', parts = 1, finished_at = ${this.clock.now()} where id = ${exportId}`.execute(
      db,
    );
    await sql`select pg_notify(${EXPORTS_CHANNEL}, ${exportId})`.execute(db);
  }
}
