import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { BillingModule } from '#billing';
import { DeliverabilityModule } from '#deliverability';
import { type Config, CONFIG } from '#platform';
import { DataExportsJob } from './exports/data-exports.job.js';
import { DataExportsService } from './exports/data-exports.service.js';
import { ReportExportsJob } from './exports/report-exports.job.js';
import { ReportExportsService } from './exports/report-exports.service.js';
import { AutomationReportQuery } from './statistics/automation-report.query.js';
import { CampaignBreakdownsService } from './statistics/campaign-breakdowns.service.js';
import { CampaignLinksQuery } from './statistics/campaign-links.query.js';
import { CampaignOverviewQuery } from './statistics/campaign-overview.query.js';
import { CampaignStatisticsQuery } from './statistics/campaign-statistics.query.js';
import { MailStatisticsQuery } from './statistics/mail-statistics.query.js';
import { TimelineQuery } from './statistics/timeline.query.js';
import { CampaignReportsService } from './writing/campaign-reports.service.js';
import { OpenAiCompatibleModel } from './writing/openai-compatible.model.js';
import {
  loadReportLocale,
  REPORT_MODEL,
  ReportDrafts,
  ReportWritingService,
} from './writing/report-writing.service.js';

const READING = [
  AutomationReportQuery,
  CampaignBreakdownsService,
  CampaignLinksQuery,
  CampaignOverviewQuery,
  CampaignReportsService,
  CampaignStatisticsQuery,
  DataExportsService,
  MailStatisticsQuery,
  ReportExportsService,
  TimelineQuery,
];

/** Reports for API and worker: reading and requesting them. */
@Module({
  imports: [AccessModule, AudienceModule, DeliverabilityModule],
  providers: READING,
  exports: READING,
})
export class ReportsModule {}

const WRITING = [DataExportsJob, ReportDrafts, ReportExportsJob, ReportWritingService];
const MODEL = { provide: REPORT_MODEL, inject: [CONFIG], useFactory: reportModelOf };

/** Reports for the worker: writing them. */
@Module({
  imports: [AccessModule, AudienceModule, BillingModule, ReportsModule],
  providers: [...WRITING, MODEL],
  exports: WRITING,
})
export class ReportsWorkerModule {}

/** Refuses to start with a locale that there is no file for. */
function reportModelOf(config: Config): OpenAiCompatibleModel | null {
  loadReportLocale(config.AI_REPORT_LOCALE);
  if (config.AI_BASE_URL === undefined || config.AI_MODEL === undefined) return null;
  return new OpenAiCompatibleModel({
    baseUrl: config.AI_BASE_URL,
    apiKey: config.AI_API_KEY,
    model: config.AI_MODEL,
    timeoutMs: config.AI_TIMEOUT_MS,
  });
}
