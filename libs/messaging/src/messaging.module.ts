import { Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { BillingModule } from '#billing';
import { MailMetrics } from '#platform';
import { CampaignAnalysisService } from './campaigns/campaign-analysis.service.js';
import { CampaignRepository } from './campaigns/campaign.repository.js';
import { CampaignSendingService } from './campaigns/campaign-sending.service.js';
import { CampaignUsageQuery } from './campaigns/campaign-usage.query.js';
import { CampaignsQuery } from './campaigns/campaigns.query.js';
import { CampaignsService } from './campaigns/campaigns.service.js';
import { CampaignExpansionService } from './deliveries/campaign-expansion.service.js';
import { CampaignFinishQuery } from './deliveries/campaign-finish.query.js';
import { CampaignMailsService } from './deliveries/campaign-mails.service.js';
import { CampaignPreparation } from './deliveries/campaign-preparation.js';
import { DeliveryActivityQuery } from './deliveries/delivery-activity.query.js';
import { DeliveryClaimsQuery } from './deliveries/delivery-claims.query.js';
import { DeliveryEngine, DeliverySources, EngineTools } from './deliveries/delivery-engine.js';
import { DeliveryJournal } from './deliveries/delivery-journal.js';
import { DeliveryTransports } from './deliveries/delivery-transports.js';
import { MailLinkMaker } from './deliveries/mail-links.js';
import { OptInDeliveriesService } from './deliveries/opt-in-deliveries.service.js';
import { OptInPreparation } from './deliveries/opt-in-preparation.js';
import { MailErasureService } from './erasure/mail-erasure.service.js';
import { MailPersonalDataQuery } from './erasure/mail-personal-data.query.js';
import { MailPagesService } from './mail-pages/mail-pages.service.js';
import { CampaignStatisticsQuery } from './reports/campaign-statistics.query.js';
import { RemoveOldExports } from './reports/remove-old-exports.task.js';
import { ReportExportMaker } from './reports/report-export-maker.js';
import { ReportExportsService } from './reports/report-exports.service.js';
import { TestInboxQuery } from './test-inbox/test-inbox.query.js';
import { TrimTestInboxes } from './test-inbox/trim-test-inboxes.task.js';

/** What both edges use: writing campaigns, their reports, the test inbox, the pages behind mails' links. */
@Module({
  imports: [AccessModule, AudienceModule, BillingModule],
  providers: [
    CampaignAnalysisService,
    CampaignMailsService,
    CampaignRepository,
    CampaignSendingService,
    CampaignsQuery,
    CampaignsService,
    CampaignStatisticsQuery,
    CampaignUsageQuery,
    DeliveryActivityQuery,
    MailLinkMaker,
    MailPagesService,
    ReportExportsService,
    TestInboxQuery,
  ],
  exports: [
    CampaignMailsService,
    CampaignSendingService,
    CampaignsService,
    CampaignStatisticsQuery,
    MailLinkMaker,
    MailPagesService,
    ReportExportsService,
    TestInboxQuery,
  ],
})
export class MessagingModule {}

/** What only the worker has: the engine and what its jobs call. */
@Module({
  imports: [MessagingModule, AccessModule, AudienceModule, BillingModule],
  providers: [
    {
      provide: MailMetrics,
      useFactory: (registry: Registry) => new MailMetrics(registry),
      inject: [Registry],
    },
    CampaignExpansionService,
    CampaignFinishQuery,
    CampaignPreparation,
    DeliveryClaimsQuery,
    DeliveryEngine,
    DeliveryJournal,
    DeliverySources,
    DeliveryTransports,
    EngineTools,
    MailErasureService,
    OptInDeliveriesService,
    OptInPreparation,
    RemoveOldExports,
    ReportExportMaker,
    TrimTestInboxes,
  ],
  exports: [
    CampaignExpansionService,
    DeliveryEngine,
    MailErasureService,
    OptInDeliveriesService,
    RemoveOldExports,
    ReportExportMaker,
    TrimTestInboxes,
  ],
})
export class MessagingWorkerModule {}

/** What mail holds about a person, for the operator. */
@Module({ providers: [MailPersonalDataQuery], exports: [MailPersonalDataQuery] })
export class MailPersonalDataModule {}
