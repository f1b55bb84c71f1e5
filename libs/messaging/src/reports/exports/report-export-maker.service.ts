import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { CampaignStatisticsQuery } from '../statistics/campaign-statistics.query.js';
import { statisticsCsv } from './report-csv.js';
import { ReportExportRepository } from './report-export.repository.js';

/** Makes report files. */
@Injectable()
export class ReportExportMaker {
  constructor(
    private readonly database: Database,
    private readonly exports: ReportExportRepository,
    private readonly statistics: CampaignStatisticsQuery,
  ) {}

  /** Makes the file of one request in the open transaction; does nothing when it, or its campaign, is gone or it is made. */
  async make(scope: ProjectScope, exportId: string): Promise<void> {
    const file = await this.exports.lockPending(scope, exportId);
    if (file === null) return;
    const campaign = await this.database
      .tables<MessagingTables>()
      .selectFrom('messaging.campaigns')
      .select('campaignKey')
      .where('id', '=', file.campaignId)
      .where('environmentId', '=', scope.environmentId)
      .where('deletedAt', 'is', null)
      .executeTakeFirst();
    if (campaign === undefined) return;
    const content = statisticsCsv(await this.statistics.of(scope, campaign.campaignKey));
    await this.exports.addPart(file, content, { cursor: null, isLast: true });
  }
}
